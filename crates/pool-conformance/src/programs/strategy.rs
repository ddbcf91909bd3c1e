//! Random programs that shrink: what is common, what is rare, and how deep it nests.

use pool_core::Compaction;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::program::{
    Acquire, DynamicProgram, DynamicStep, Fill, Form, Impossible, LexicalProgram, Nested, Round,
    Setting, Step, Style,
};
use crate::element::Kind;
use crate::heap::Refusal;

/// How many scopes are within each other at most, below the outermost.
const DEPTH: u32 = if cfg!(miri) { 3 } else { 5 };
/// How many steps there may be in a program's scopes, and in one of them.
const STEPS_IN_ALL: u32 = if cfg!(miri) { 12 } else { 40 };
const STEPS: usize = if cfg!(miri) { 5 } else { 9 };
/// How often a scope may be opened, one after the other.
const TIMES: usize = if cfg!(miri) { 2 } else { 3 };
/// How many acquires there may be in a burst: more than a slot table has.
const BURST: usize = if cfg!(miri) { 34 } else { 70 };

/// Lexical programs; some allocations fail if `refusals`.
pub fn lexical_program(refusals: bool) -> impl Strategy<Value = LexicalProgram> {
    (setting(), vec(round(refusals), 1..if cfg!(miri) { 3 } else { 5 }))
        .prop_map(|(setting, rounds)| LexicalProgram { setting, rounds })
}

/// Dynamic programs; some allocations fail if `refusals`.
pub fn dynamic_program(refusals: bool) -> impl Strategy<Value = DynamicProgram> {
    let steps = if cfg!(miri) { 1..16 } else { 1..40 };
    (setting(), vec(dynamic_step(refusals), steps))
        .prop_map(|(setting, steps)| DynamicProgram { setting, steps })
}

fn setting() -> impl Strategy<Value = Setting> {
    let byte_limit = (any_of_ten(4), any_of_ten(5), 0..400_usize, 400..8_000_usize);
    let byte_limit = byte_limit.prop_map(|(limited, tight, small, large)| {
        limited.then_some(if tight { small } else { large })
    });
    let growth_factor = one_of(&[(3, 1.5), (1, 1.0), (1, 4.0)]);
    (byte_limit, growth_factor, any_of_ten(1), any_of_ten(1), 1..6_usize).prop_map(
        |(byte_limit, growth_factor, poison, fresh, ways)| Setting {
            byte_limit,
            growth_factor,
            poison,
            fresh,
            ways,
        },
    )
}

/// One of some values, by weight; shrinks towards the first.
///
/// A number that picks, where `prop_oneof!` would hold a value tree with a runner of its own for each
/// value that it passes over: most of the time that a program would take to be made.
fn one_of<T: Copy + std::fmt::Debug>(
    weighted: &'static [(u32, T)],
) -> impl Strategy<Value = T> + Clone {
    let sum = weighted.iter().map(|(weight, _)| weight).sum::<u32>();
    (0..sum).prop_map(move |mut number| {
        for &(weight, value) in weighted {
            match number.checked_sub(weight) {
                Some(rest) => number = rest,
                None => return value,
            }
        }
        unreachable!("the number is below the sum of the weights")
    })
}

/// True so many times in ten.
fn any_of_ten(times: u8) -> impl Strategy<Value = bool> + Clone {
    (0..10_u8).prop_map(move |number| number >= 10 - times)
}

fn round(refusals: bool) -> impl Strategy<Value = Round> {
    prop_oneof![
        12 => nested(step(refusals), refusals).prop_map(Round::Scope),
        1 => Just(Round::Trim),
        1 => Just(Round::Clear),
        1 => compaction().prop_map(Round::Compact),
        1 => Just(Round::Sample),
        1 => setting().prop_map(Round::Configure),
    ]
}

fn step(refusals: bool) -> impl Strategy<Value = Step> + Clone {
    let leaf = prop_oneof![
        20 => acquire().prop_map(Step::Acquire),
        3 => vec(acquire(), 0..4).prop_map(Step::Helper),
        1 => (kind(), 1..=BURST).prop_map(|(kind, count)| Step::Burst(kind, count)),
        4 => any::<usize>().prop_map(Step::Rewrite),
        1 => Just(Step::Verify),
        2 => Just(Step::Trim),
        1 => compaction().prop_map(Step::Compact),
        1 => Just(Step::Sample),
        1 => Just(Step::Panic),
        1 => (0..3_usize).prop_map(Step::Leave),
    ];
    leaf.prop_recursive(DEPTH, STEPS_IN_ALL, 9, move |step| {
        prop_oneof![
            9 => nested(step.clone(), refusals).prop_map(Step::Nested),
            1 => (setting(), vec(step, 0..STEPS))
                .prop_map(|(setting, steps)| Step::Beside(setting, steps)),
        ]
    })
}

fn nested(step: impl Strategy<Value = Step>, refusals: bool) -> impl Strategy<Value = Nested> {
    let style = one_of(&[
        (1, Style::Block),
        (1, Style::Reference),
        (1, Style::Value),
        (1, Style::Kept),
        (1, Style::Forgotten),
        (1, Style::Caught),
    ]);
    let refusal = (any_of_ten(2), refusal())
        .prop_map(move |(refused, refusal)| (refused && refusals).then_some(refusal));
    (style, 1..=TIMES, refusal, vec(step, 0..STEPS))
        .prop_map(|(style, times, refusal, steps)| Nested { style, times, refusal, steps })
}

/// Refusals that are soon carried out.
fn refusal() -> impl Strategy<Value = Refusal> {
    (0..4_u8, 0..5_usize, 0..4_000_usize).prop_map(|(which, allocation, bytes)| match which {
        0 => Refusal::Once(allocation),
        1 => Refusal::From(allocation),
        2 => Refusal::Above(bytes),
        _ => Refusal::PanicOnce(allocation),
    })
}

fn acquire() -> impl Strategy<Value = Acquire> + Clone {
    (kind(), form(), any::<bool>()).prop_map(|(kind, form, panics)| Acquire { kind, form, panics })
}

fn kind() -> impl Strategy<Value = Kind> + Clone {
    one_of(&[
        (1, Kind::Unit),
        (4, Kind::U8),
        (3, Kind::Bool),
        (2, Kind::U16),
        (3, Kind::F32),
        (4, Kind::F64),
        (2, Kind::ThreeBytes),
        (3, Kind::Vector),
        (2, Kind::Wide),
    ])
}

/// The parts of every form are made, and the form that the first number says takes its own.
fn form() -> impl Strategy<Value = Form> + Clone {
    let numbers = (0..8_usize, 0..8_usize, any::<usize>(), any_of_ten(3), any_of_ten(2));
    (0..24_u8, fill(), length(), vec(axis(), 0..7), numbers).prop_map(
        |(which, fill, length, mut dims, (one, other, any, reenters, panics))| match which {
            0..=11 => Form::Flat(fill, length),
            12 => Form::Like,
            13..=14 => Form::With {
                length: length.min(20),
                reenter_at: reenters.then_some(one / 2),
                panic_at: panics.then_some(other),
            },
            15..=17 => {
                // A fixed rank is at least 1.
                if dims.is_empty() {
                    dims.push(2);
                }
                Form::Shaped(fill, dims)
            }
            18..=21 => Form::Dynamic(fill, dims),
            22 => Form::Split(one, other, any),
            _ => Form::Impossible(impossible(one, any)),
        },
    )
}

fn impossible(which: usize, any: usize) -> Impossible {
    match which {
        0 => Impossible::Product,
        1 => Impossible::ProductBesideZero,
        2 => Impossible::DynamicProductBesideZero,
        3 => Impossible::SourceOfOtherLength,
        _ => Impossible::Length(any % 9),
    }
}

fn fill() -> impl Strategy<Value = Fill> + Clone {
    one_of(&[(4, Fill::Recycled), (1, Fill::Zeroed), (1, Fill::Filled), (1, Fill::Copied)])
}

/// Mostly a few elements, sometimes enough for a block to grow several times, rarely none.
fn length() -> impl Strategy<Value = usize> + Clone {
    let (short, long): (usize, usize) = if cfg!(miri) { (6, 16) } else { (20, 300) };
    (0..10_u8, 1..short, short..long).prop_map(|(which, short, long)| match which {
        0..=5 => short,
        6 => 0,
        _ => long,
    })
}

/// An axis of an array; with six of them an array has a few hundred elements at most.
fn axis() -> impl Strategy<Value = usize> + Clone {
    one_of(&[(6, 1), (6, 2), (2, 3), (1, 0)])
}

/// Sensible, eager, and absurd compactions: the fields are public.
fn compaction() -> impl Strategy<Value = Compaction> {
    let factor = one_of(&[(1, 10.0), (1, 1.0), (1, 0.0), (1, f64::NAN), (1, -1.0)]);
    let shrink_to = one_of(&[(1, 1.5), (1, 1.0), (1, 0.0), (1, f64::INFINITY)]);
    let minimum_bytes = one_of(&[(1, 0), (1, 64), (1, 1 << 20)]);
    (factor, shrink_to, minimum_bytes).prop_map(|(factor, shrink_to, minimum_bytes)| Compaction {
        factor,
        shrink_to,
        minimum_bytes,
    })
}

fn dynamic_step(refusals: bool) -> impl Strategy<Value = DynamicStep> {
    prop_oneof![
        20 => acquire().prop_map(DynamicStep::Acquire),
        1 => (kind(), 1..=BURST).prop_map(|(kind, count)| DynamicStep::Burst(kind, count)),
        6 => Just(DynamicStep::Checkpoint),
        4 => Just(DynamicStep::Rewind),
        3 => any::<usize>().prop_map(DynamicStep::RewindTo),
        1 => Just(DynamicStep::Reset),
        4 => any::<usize>().prop_map(DynamicStep::Rewrite),
        3 => (any::<usize>(), any::<usize>())
            .prop_map(|(first, second)| DynamicStep::RewritePair(first, second)),
        1 => kind().prop_map(DynamicStep::Foreign),
        4 => vec(step(refusals), 0..STEPS).prop_map(DynamicStep::Split),
        2 => Just(DynamicStep::Trim),
        1 => Just(DynamicStep::Clear),
        1 => compaction().prop_map(DynamicStep::Compact),
        1 => Just(DynamicStep::Sample),
        1 => setting().prop_map(DynamicStep::Configure),
        2 => refusal().prop_map(move |refusal| match refusal {
            _ if !refusals => DynamicStep::Checkpoint,
            // As often as others begin, all end.
            Refusal::Above(_) => DynamicStep::Refuse(Refusal::Never),
            other => DynamicStep::Refuse(other),
        }),
    ]
}
