//! Generates random programs that can be shrunk. The module determines which steps are common or
//! rare, and how deeply scopes are nested.
//!
//! A program is generated from a list of random numbers, which are called choices. After the end of
//! the list, every further choice is zero. Generating programs from a list of choices is fast, and
//! a program shrinks when its list shrinks. A shorter list of choices yields a program that ends
//! earlier. A smaller choice yields a step that appears earlier in this file.

use pool_core::Compaction;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

use super::program::{
    Acquire, DynamicProgram, DynamicStep, Fill, Form, Impossible, Keep, LexicalProgram, Nested,
    Round, Setting, Step, Style,
};
use crate::element::Kind;
use crate::host::{HostAcquire, HostForm, HostKind};
use crate::ledger::Refusal;

/// The maximum number of choices used to generate a program.
const CHOICES: usize = if cfg!(miri) { 100 } else { 800 };
/// The maximum depth to which scopes are nested within the outermost scope.
const DEPTH: usize = if cfg!(miri) { 3 } else { 5 };
/// The maximum number of steps in a scope or in a dynamic program.
const STEPS: usize = if cfg!(miri) { 4 } else { 9 };
const DYNAMIC_STEPS: usize = if cfg!(miri) { 12 } else { 40 };
/// The maximum number of rounds in a lexical program.
const ROUNDS: usize = if cfg!(miri) { 2 } else { 4 };
/// The maximum number of times that a scope is opened in succession.
const TIMES: usize = if cfg!(miri) { 2 } else { 3 };
/// The maximum number of acquires in a burst, which exceeds the number of slots in one slot table.
const BURST: usize = if cfg!(miri) { 34 } else { 70 };

/// Generates lexical programs. If `refusals` is `true`, some allocations fail.
pub fn lexical_program(refusals: bool) -> impl Strategy<Value = LexicalProgram> {
    choices().prop_map(move |numbers| Choices::new(&numbers, refusals).lexical_program())
}

/// Generates dynamic programs. If `refusals` is `true`, some allocations fail.
pub fn dynamic_program(refusals: bool) -> impl Strategy<Value = DynamicProgram> {
    choices().prop_map(move |numbers| Choices::new(&numbers, refusals).dynamic_program())
}

fn choices() -> impl Strategy<Value = Vec<u32>> {
    vec(any::<u32>(), CHOICES / 8..CHOICES)
}

/// The choices that have not been used yet.
struct Choices<'a> {
    left: std::slice::Iter<'a, u32>,
    refusals: bool,
}

impl<'a> Choices<'a> {
    fn new(numbers: &'a [u32], refusals: bool) -> Self {
        Self { left: numbers.iter(), refusals }
    }

    fn any(&mut self) -> usize {
        self.left.next().map_or(0, |&number| number as usize)
    }

    fn below(&mut self, end: usize) -> usize {
        self.any() % end
    }

    fn between(&mut self, start: usize, end: usize) -> usize {
        start + self.below(end - start)
    }

    /// Returns `true` with a probability of `times` in ten.
    fn of_ten(&mut self, times: usize) -> bool {
        self.below(10) >= 10 - times
    }

    /// Returns one of the values, chosen with the given weights.
    fn one_of<T: Copy>(&mut self, weighted: &[(usize, T)]) -> T {
        let sum = weighted.iter().map(|(weight, _)| weight).sum();
        let mut number = self.below(sum);
        for &(weight, value) in weighted {
            match number.checked_sub(weight) {
                Some(rest) => number = rest,
                None => return value,
            }
        }
        unreachable!("the number is below the sum of the weights")
    }

    fn many<T>(&mut self, count: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..count).map(|_| one(self)).collect()
    }

    fn lexical_program(&mut self) -> LexicalProgram {
        let setting = self.setting();
        let rounds = self.between(1, ROUNDS + 1);
        LexicalProgram { setting, rounds: self.many(rounds, Self::round) }
    }

    fn dynamic_program(&mut self) -> DynamicProgram {
        let setting = self.setting();
        let steps = self.between(1, DYNAMIC_STEPS);
        DynamicProgram { setting, steps: self.many(steps, Self::dynamic_step) }
    }

    fn setting(&mut self) -> Setting {
        let byte_limit = match self.below(10) {
            0..=5 => None,
            6..=7 => Some(self.below(400)),
            _ => Some(self.between(400, 8_000)),
        };
        Setting {
            byte_limit,
            growth_factor: self.one_of(&[(3, 1.5), (1, 1.0), (1, 4.0)]),
            poison: self.of_ten(2),
            fresh: self.of_ten(1),
            measure_live_bytes: self.of_ten(1),
            ways: self.between(1, 6),
        }
    }

    fn round(&mut self) -> Round {
        match self.below(18) {
            0..=11 => Round::Scope(self.nested(DEPTH)),
            12 => Round::Trim,
            13 => Round::Clear,
            14 => Round::Compact(self.compaction()),
            15 => Round::Sample,
            _ => Round::Configure(self.setting()),
        }
    }

    /// Chooses a scope's steps. The steps may contain nested scopes up to `depth` levels deep.
    fn steps(&mut self, depth: usize) -> Vec<Step> {
        let count = self.below(STEPS);
        self.many(count, |choices| choices.step(depth))
    }

    fn step(&mut self, depth: usize) -> Step {
        if depth > 0 && self.of_ten(4) {
            return match self.below(10) {
                0..=6 => Step::Nested(self.nested(depth - 1)),
                7..=8 => Step::Keep(self.keep(depth - 1)),
                _ => Step::Beside(self.setting(), self.steps(depth - 1)),
            };
        }
        match self.below(35) {
            0..=13 => Step::Acquire(self.acquire()),
            14..=19 => Step::Host(self.host_acquire()),
            20..=22 => {
                let count = self.below(4);
                Step::Helper(self.many(count, Self::acquire))
            }
            23 => Step::Burst(self.kind(), self.between(1, BURST + 1)),
            24..=27 => Step::Rewrite(self.any()),
            28 => Step::Verify,
            29..=30 => Step::Trim,
            31 => Step::Compact(self.compaction()),
            32 => Step::Sample,
            33 => Step::Panic,
            _ => Step::Leave(self.below(3)),
        }
    }

    fn nested(&mut self, depth: usize) -> Nested {
        let style = self.one_of(&[
            (1, Style::Block),
            (1, Style::Reference),
            (1, Style::Value),
            (1, Style::Kept),
            (1, Style::Forgotten),
            (1, Style::Caught),
        ]);
        let times = self.between(1, TIMES + 1);
        let refusal = self.of_ten(2).then(|| self.refusal()).filter(|_| self.refusals);
        Nested { style, times, refusal, steps: self.steps(depth) }
    }

    /// Returns a random refusal rule that is likely to take effect soon.
    fn refusal(&mut self) -> Refusal {
        match self.below(4) {
            0 => Refusal::Once(self.below(5)),
            1 => Refusal::From(self.below(5)),
            2 => Refusal::Above(self.below(4_000)),
            _ => Refusal::PanicOnce(self.below(5)),
        }
    }

    fn keep(&mut self, depth: usize) -> Keep {
        let steps = self.steps(depth);
        let acquire = self.host_acquire_of(Self::initialised_form);
        let after = self.below(3);
        let part = if self.of_ten(3) { [self.any(), self.any()] } else { [0, acquire.length] };
        Keep { steps, acquire, after: self.many(after, Self::acquire), part }
    }

    fn host_acquire(&mut self) -> HostAcquire {
        self.host_acquire_of(|choices| match choices.below(5) {
            0 => HostForm::Uninit,
            1 => choices.one_of(&[
                (1, HostForm::NdUninit),
                (1, HostForm::Scratch(1)),
                (1, HostForm::Scratch(256)),
            ]),
            _ => choices.initialised_form(),
        })
    }

    fn host_acquire_of(&mut self, form: impl FnOnce(&mut Self) -> HostForm) -> HostAcquire {
        let kind = self.one_of(&[
            (6, HostKind::Pair),
            (4, HostKind::Optional),
            (3, HostKind::Text),
            (2, HostKind::Byte),
            (2, HostKind::Number),
            (1, HostKind::Point),
            (1, HostKind::Unit),
        ]);
        HostAcquire {
            kind,
            form: form(self),
            length: self.length(),
            reenter_at: self.of_ten(2).then(|| self.below(4)),
            panic_at: self.of_ten(1).then(|| self.below(8)),
            panics: self.of_ten(5),
        }
    }

    fn initialised_form(&mut self) -> HostForm {
        match self.below(12) {
            0..=4 => HostForm::With,
            5..=7 => HostForm::NdWith,
            8 => HostForm::FixedVec(self.below(4)),
            9..=10 => HostForm::Vec(self.below(4)),
            _ => HostForm::FromIter,
        }
    }

    fn acquire(&mut self) -> Acquire {
        Acquire { kind: self.kind(), form: self.form(), panics: self.of_ten(5) }
    }

    fn kind(&mut self) -> Kind {
        self.one_of(&[
            (4, Kind::U8),
            (3, Kind::Bool),
            (2, Kind::U16),
            (3, Kind::F32),
            (4, Kind::F64),
            (2, Kind::ThreeBytes),
            (3, Kind::Vector),
            (2, Kind::Wide),
            (1, Kind::Unit),
        ])
    }

    fn form(&mut self) -> Form {
        match self.below(25) {
            0..=11 => Form::Flat(self.fill(), self.length()),
            12 => Form::Like,
            13..=14 => Form::With {
                length: self.length().min(20),
                reenter_at: self.of_ten(3).then(|| self.below(4)),
                panic_at: self.of_ten(2).then(|| self.below(8)),
            },
            15..=17 => {
                let (fill, rank) = (self.fill(), self.between(1, 7));
                Form::Shaped(fill, self.many(rank, Self::axis))
            }
            18..=21 => {
                let (fill, rank) = (self.fill_of_any_rank(), self.below(7));
                Form::Dynamic(fill, self.many(rank, Self::axis))
            }
            22 => Form::Split(self.below(8), self.below(8), self.any()),
            23 => Form::Misshapen,
            _ => Form::Impossible(self.impossible()),
        }
    }

    fn impossible(&mut self) -> Impossible {
        match self.below(4) {
            0 => Impossible::Length(self.below(9)),
            1 => Impossible::Product,
            2 => Impossible::ProductBesideZero,
            _ => Impossible::DynamicProductBesideZero,
        }
    }

    fn fill(&mut self) -> Fill {
        self.one_of(&[(4, Fill::Recycled), (1, Fill::Zeroed), (1, Fill::Filled), (1, Fill::Copied)])
    }

    /// Chooses a fill. Copies are excluded, because a copy's rank must be known at compile time.
    fn fill_of_any_rank(&mut self) -> Fill {
        self.one_of(&[(4, Fill::Recycled), (1, Fill::Zeroed), (1, Fill::Filled)])
    }

    /// Returns a length that is usually only a few elements. Some lengths are so large that a block
    /// has to grow several times. A few lengths are zero.
    fn length(&mut self) -> usize {
        let (short, long) = if cfg!(miri) { (6, 16) } else { (20, 300) };
        match self.below(10) {
            0 => 0,
            1..=6 => self.between(1, short),
            _ => self.between(short, long),
        }
    }

    /// Chooses an axis length. The length is always short, so that an array with six axes has at
    /// most a few hundred elements.
    fn axis(&mut self) -> usize {
        self.one_of(&[(1, 0), (6, 1), (6, 2), (2, 3)])
    }

    /// Returns a compaction with sensible, eager, or absurd settings. The fields are public, so
    /// they may contain absurd values.
    fn compaction(&mut self) -> Compaction {
        Compaction {
            factor: self.one_of(&[(1, 10.0), (1, 1.0), (1, 0.0), (1, f64::NAN), (1, -1.0)]),
            shrink_to: self.one_of(&[(1, 1.5), (1, 1.0), (1, 0.0), (1, f64::INFINITY)]),
            minimum_bytes: self.one_of(&[(1, 0), (1, 64), (1, 1 << 20)]),
        }
    }

    fn dynamic_step(&mut self) -> DynamicStep {
        match self.below(55) {
            0..=19 => DynamicStep::Acquire(self.acquire()),
            20 => DynamicStep::Burst(self.kind(), self.between(1, BURST + 1)),
            21..=26 => DynamicStep::Checkpoint,
            27..=30 => DynamicStep::Rewind,
            31..=33 => DynamicStep::RewindTo(self.any()),
            34 => DynamicStep::Reset,
            35..=38 => DynamicStep::Rewrite(self.any()),
            39..=41 => DynamicStep::RewritePair(self.any(), self.any()),
            42 => DynamicStep::Foreign(self.kind()),
            43..=46 => DynamicStep::Split(self.steps(DEPTH)),
            47..=48 => DynamicStep::Trim,
            49 => DynamicStep::Clear,
            50 => DynamicStep::Compact(self.compaction()),
            51 => DynamicStep::Sample,
            52 => DynamicStep::Configure(self.setting()),
            _ => self.dynamic_refusal(),
        }
    }

    fn dynamic_refusal(&mut self) -> DynamicStep {
        match self.refusal() {
            _ if !self.refusals => DynamicStep::Checkpoint,
            // One in four refusal steps makes the backend stop refusing allocations.
            Refusal::Above(_) => DynamicStep::Refuse(Refusal::Never),
            other => DynamicStep::Refuse(other),
        }
    }
}
