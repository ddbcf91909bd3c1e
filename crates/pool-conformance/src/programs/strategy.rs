//! Random programs that shrink: what is common, what is rare, and how deep it nests.

use pool_core::Compaction;
use proptest::collection::vec;
use proptest::option::weighted;
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
    let byte_limit = weighted(0.4, prop_oneof![0..400_usize, 400..8_000_usize]);
    let growth_factor = prop_oneof![3 => Just(1.5), 1 => Just(1.0), 1 => Just(4.0)];
    (byte_limit, growth_factor, any_of_ten(), any_of_ten(), 1..6_usize).prop_map(
        |(byte_limit, growth_factor, poison, fresh, ways)| Setting {
            byte_limit,
            growth_factor,
            poison,
            fresh,
            ways,
        },
    )
}

/// True one time in ten.
fn any_of_ten() -> impl Strategy<Value = bool> {
    (0..10_u8).prop_map(|number| number == 9)
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
    let style = prop_oneof![
        Just(Style::Block),
        Just(Style::Reference),
        Just(Style::Value),
        Just(Style::Kept),
        Just(Style::Forgotten),
        Just(Style::Caught),
    ];
    let refusal = weighted(0.2, refusal()).prop_map(move |refusal| refusal.filter(|_| refusals));
    (style, 1..=TIMES, refusal, vec(step, 0..STEPS))
        .prop_map(|(style, times, refusal, steps)| Nested { style, times, refusal, steps })
}

/// Refusals that are soon carried out.
fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![
        (0..5_usize).prop_map(Refusal::Once),
        (0..5_usize).prop_map(Refusal::From),
        (0..4_000_usize).prop_map(Refusal::Above),
        (0..5_usize).prop_map(Refusal::PanicOnce),
    ]
}

fn acquire() -> impl Strategy<Value = Acquire> {
    (kind(), form(), any::<bool>()).prop_map(|(kind, form, panics)| Acquire { kind, form, panics })
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        1 => Just(Kind::Unit),
        4 => Just(Kind::U8),
        3 => Just(Kind::Bool),
        2 => Just(Kind::U16),
        3 => Just(Kind::F32),
        4 => Just(Kind::F64),
        2 => Just(Kind::ThreeBytes),
        3 => Just(Kind::Vector),
        2 => Just(Kind::Wide),
    ]
}

fn form() -> impl Strategy<Value = Form> {
    let with = (length(), weighted(0.3, 0..4_usize), weighted(0.2, 0..8_usize));
    prop_oneof![
        12 => (fill(), length()).prop_map(|(fill, length)| Form::Flat(fill, length)),
        1 => Just(Form::Like),
        2 => with.prop_map(|(length, reenter_at, panic_at)| Form::With {
            length: length.min(20),
            reenter_at,
            panic_at,
        }),
        3 => (fill(), vec(axis(), 1..7)).prop_map(|(fill, dims)| Form::Shaped(fill, dims)),
        4 => (fill(), vec(axis(), 0..7)).prop_map(|(fill, dims)| Form::Dynamic(fill, dims)),
        1 => (0..8_usize, 0..8_usize, any::<usize>())
            .prop_map(|(rows, columns, at)| Form::Split(rows, columns, at)),
        1 => impossible().prop_map(Form::Impossible),
    ]
}

fn impossible() -> impl Strategy<Value = Impossible> {
    prop_oneof![
        (0..9_usize).prop_map(Impossible::Length),
        Just(Impossible::Product),
        Just(Impossible::ProductBesideZero),
        Just(Impossible::DynamicProductBesideZero),
        Just(Impossible::SourceOfOtherLength),
    ]
}

fn fill() -> impl Strategy<Value = Fill> {
    prop_oneof![
        4 => Just(Fill::Recycled),
        1 => Just(Fill::Zeroed),
        1 => Just(Fill::Filled),
        1 => Just(Fill::Copied),
    ]
}

/// Mostly a few elements, sometimes enough for a block to grow several times, rarely none.
fn length() -> impl Strategy<Value = usize> {
    let (short, long): (usize, usize) = if cfg!(miri) { (6, 16) } else { (20, 300) };
    prop_oneof![1 => Just(0_usize), 6 => 1..short, 3 => short..long]
}

/// An axis of an array; with six of them an array has a few hundred elements at most.
fn axis() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0_usize), 6 => Just(1_usize), 6 => Just(2_usize), 2 => Just(3_usize)]
}

/// Sensible, eager, and absurd compactions: the fields are public.
fn compaction() -> impl Strategy<Value = Compaction> {
    let factor = prop_oneof![Just(10.0), Just(1.0), Just(0.0), Just(f64::NAN), Just(-1.0)];
    let shrink_to = prop_oneof![Just(1.5), Just(1.0), Just(0.0), Just(f64::INFINITY)];
    let minimum_bytes = prop_oneof![Just(0_usize), Just(64_usize), Just(1_usize << 20)];
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
