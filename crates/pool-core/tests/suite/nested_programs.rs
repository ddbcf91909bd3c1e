//! Random programs of nested guards, against a naive model that holds every live array. Arrays
//! never overlap, keep their contents, and never show uninitialised memory. Guards are dropped in
//! any order, forgotten, or used side by side.

use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pool_conformance::Refusal;
use pool_conformance::programs::test_cases;
use pool_core::{Compaction, PoolConfig, Scope};

use crate::nested_support::{Guard, Heap, Stacks};
use crate::support::{assert_stamped, stamp};

/// The value written into arrays that were acquired uninitialised. No later array may show it.
const DIRTY: u64 = 0xD1D1_D1D1_D1D1_D1D1;

/// An array that may be used.
struct Live {
    array: &'static mut [u64],
    owner: u64,
}

/// A scope with its arrays. Only the last one of a guard acquires, as the borrow checker would have it.
struct Level {
    scope: Scope<'static, Heap>,
    arrays: Vec<Live>,
}

/// A guard and the scopes that are open in its pool.
struct Hand {
    levels: Vec<Level>,
    guard: Box<Guard>,
    is_forgotten: bool,
}

impl Hand {
    fn open(&mut self) {
        let scope = match self.levels.last_mut() {
            Some(level) => level.scope.scope(),
            None => self.guard.scope(),
        };
        // SAFETY: only the innermost scope of a guard is used. All of them end before the guard is used or dropped.
        let scope = unsafe { transmute::<Scope<'_, Heap>, Scope<'static, Heap>>(scope) };
        self.levels.push(Level { scope, arrays: Vec::new() });
    }

    fn check(&self) {
        for level in &self.levels {
            for live in &level.arrays {
                assert_stamped(live.array, live.owner);
            }
        }
    }
}

/// A program that runs.
struct Program {
    stacks: Stacks,
    hands: Vec<Hand>,
    random: fastrand::Rng,
    next_owner: u64,
    counts: Counts,
}

/// The number of times that the rare cases occurred.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    refused: usize,
    forgotten: usize,
    out_of_order: usize,
    borrowed: usize,
    released: usize,
    kept: usize,
}

impl Program {
    fn new(seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let (stacks, counts) = (Stacks::new(), Counts::default());
        Self { stacks, hands: Vec::new(), random, next_owner: 1, counts }
    }

    fn length(&mut self) -> usize {
        match self.random.u8(..16) {
            0 => 0,
            1..=9 => self.random.usize(1..40),
            10..=14 => self.random.usize(40..400),
            _ => self.random.usize(400..if cfg!(miri) { 600 } else { 3_000 }),
        }
    }

    fn step(&mut self) {
        match self.random.u8(..40) {
            0..=4 if self.hands.len() < 6 => self.take(),
            5..=7 => self.put(),
            8 if self.random.u8(..6) == 0 => self.forget(),
            9..=12 => self.on_hand(Hand::open),
            13..=16 => self.on_hand(|hand| drop(hand.levels.pop())),
            17..=34 => self.acquire(),
            35 => self.configure(),
            36 => self.counts.released += self.stacks.trim_all(),
            37 => self.refuse(),
            _ => self.free(),
        }
    }

    fn take(&mut self) {
        let blocks = self.stacks.ledger.live_blocks();
        let guard = Box::new(self.stacks.guard());
        let mut hand = Hand { levels: Vec::new(), guard, is_forgotten: false };
        hand.open();
        let is_first = self.hands.is_empty();
        self.hands.push(hand);
        self.acquire_in(self.hands.len() - 1);
        if !is_first && self.stacks.ledger.live_blocks() <= blocks {
            self.counts.borrowed += 1;
        }
    }

    fn put(&mut self) {
        let candidates: Vec<_> =
            (0..self.hands.len()).filter(|&at| !self.hands[at].is_forgotten).collect();
        let Some(&at) = candidates.get(self.random.usize(..candidates.len().max(1))) else {
            return;
        };
        self.counts.out_of_order += usize::from(at + 1 < self.hands.len());
        let hand = self.hands.remove(at);
        hand.check();
        drop(hand);
    }

    /// Forgets a guard: its scopes and arrays stay in use until the program ends.
    fn forget(&mut self) {
        if let Some(at) = self.any() {
            self.hands[at].is_forgotten = true;
            self.counts.forgotten += 1;
        }
    }

    fn any(&mut self) -> Option<usize> {
        (!self.hands.is_empty()).then(|| self.random.usize(..self.hands.len()))
    }

    fn on_hand(&mut self, f: impl FnOnce(&mut Hand)) {
        if let Some(at) = self.any() {
            self.hands[at].check();
            f(&mut self.hands[at]);
        }
    }

    fn acquire(&mut self) {
        if let Some(at) = self.any() {
            self.acquire_in(at);
        }
    }

    fn acquire_in(&mut self, at: usize) {
        let (length, kind) = (self.length(), self.random.u8(..8));
        let owner = self.next_owner;
        self.next_owner += 1;
        let nested = self.random.u8(..4) == 0;
        let Some(level) = self.hands[at].levels.last_mut() else { return };
        let scope = &mut level.scope;
        let mut is_read = false;
        let acquired = match kind {
            0 => scope.try_acquire_zeroed::<u64, _>(length),
            1 => scope.try_acquire_filled(length, owner),
            2 => dirty(scope, length).map(|()| [].as_mut_slice()),
            3 => {
                self.counts.kept += 1;
                scope.try_keep(|inner| {
                    inner.try_acquire::<u64, _>(length / 2)?;
                    inner.try_acquire_zeroed::<u64, _>(length)
                })
            }
            4 => {
                // A vector whose growth may meet another guard's loan.
                scope.try_acquire_vec::<u64>(length % 3).and_then(|mut vector| {
                    vector.try_extend((0..length as u64 / 2).map(|index| owner << 32 | index))?;
                    let guard = nested.then(|| {
                        let mut guard = self.stacks.guard();
                        _ = guard.scope().try_acquire_filled(20, u64::MAX);
                        guard
                    });
                    let from = vector.len() as u64;
                    vector.try_extend((from..length as u64).map(|index| owner << 32 | index))?;
                    assert_stamped(&vector, owner);
                    drop(guard);
                    Ok(vector.into_slice())
                })
            }
            _ => {
                is_read = true;
                scope.try_acquire::<u64, _>(length)
            }
        };
        let Ok(array) = acquired else {
            self.counts.refused += 1;
            return;
        };
        if is_read {
            assert!(array.iter().all(|&number| number != DIRTY), "a byte that is not initialised");
        }
        stamp(array, owner);
        // SAFETY: the array lives as long as its level, which is dropped before the guard.
        let array = unsafe { transmute::<&mut [u64], &'static mut [u64]>(array) };
        level.arrays.push(Live { array, owner });
        self.check_apart();
    }

    fn configure(&mut self) {
        let config = match self.random.u8(..6) {
            0 => PoolConfig::new().poison(true),
            1 => PoolConfig::new().fresh(true),
            2 => PoolConfig::new().byte_limit(self.random.usize(..40_000)),
            _ => PoolConfig::new(),
        };
        self.stacks.set_config(config);
        self.on_hand(|hand| {
            if hand.levels.is_empty() {
                hand.guard.configure(config).unwrap();
            }
        });
    }

    fn refuse(&mut self) {
        let refusal = match self.random.u8(..4) {
            0 => Refusal::Once(self.random.usize(..3)),
            1 => Refusal::Above(self.random.usize(..60_000)),
            _ => Refusal::Never,
        };
        self.stacks.ledger.refuse(refusal);
    }

    fn free(&mut self) {
        let what = self.random.u8(..4);
        self.on_hand(|hand| match (hand.levels.last(), what) {
            (Some(level), 0) => drop(level.scope.compact(&Compaction::default())),
            (Some(level), 1) => level.scope.sample_lengths(),
            (Some(level), _) => drop(level.scope.trim()),
            (None, 0) => drop(hand.guard.clear()),
            (None, _) => drop(hand.guard.trim()),
        });
    }

    /// No two live arrays share a byte.
    fn check_apart(&self) {
        let levels = self.hands.iter().flat_map(|hand| &hand.levels);
        let mut ranges: Vec<_> = levels
            .flat_map(|level| &level.arrays)
            .filter(|live| !live.array.is_empty())
            .map(|live| {
                let range = live.array.as_ptr_range();
                (range.start.addr(), range.end.addr(), live.owner)
            })
            .collect();
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "owners {} and {}", pair[0].2, pair[1].2);
        }
    }

    /// Ends the program: equal nested passes settle, in any state.
    fn finish(mut self) -> Counts {
        self.stacks.ledger.refuse(Refusal::Never);
        self.hands.iter().for_each(Hand::check);
        let (forgotten, others): (Vec<_>, Vec<_>) =
            self.hands.drain(..).partition(|hand| hand.is_forgotten);
        drop(others);
        self.stacks.set_config(PoolConfig::new());
        let mut guards: Vec<_> = (0..8).map(|_| self.stacks.guard()).collect();
        for guard in &mut guards {
            guard.configure(PoolConfig::new()).unwrap();
            guard.clear();
        }
        drop(guards);
        self.stacks.trim_all();
        let lengths = [self.length() + 1, self.length() + 200, 50];
        let mut allocations = 0;
        for _ in 0..if cfg!(miri) { 5 } else { 8 } {
            allocations = self.stacks.ledger.allocations();
            pass(&self.stacks, &lengths);
        }
        assert_eq!(self.stacks.ledger.allocations(), allocations, "equal passes allocate nothing");
        if forgotten.is_empty() {
            let peak: usize = lengths.iter().map(|length| (8 * length).next_multiple_of(64)).sum();
            let held = self.stacks.held();
            assert!(held <= peak + peak / 32 + 1_024, "{held} bytes are held for {peak}");
        }
        for hand in forgotten {
            hand.check();
            hand.guard.forget();
        }
        self.counts
    }
}

fn dirty(
    scope: &Scope<'_, Heap>,
    length: usize,
) -> Result<(), pool_core::PoolError<pool_conformance::RefusalError>> {
    for element in scope.try_acquire_uninit::<u64, _>(length)? {
        element.write(DIRTY);
    }
    Ok(())
}

fn pass(stacks: &Stacks, lengths: &[usize]) {
    let [length, rest @ ..] = lengths else { return };
    let mut guard = stacks.guard();
    let scope = guard.scope();
    stamp(scope.acquire::<u64, _>(*length), 1);
    pass(stacks, rest);
}

/// Runs a program; the seed is in the text of a panic.
fn run(seed: u64) -> Counts {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut program = Program::new(seed);
        for _ in 0..if cfg!(miri) { 40 } else { 150 } {
            program.step();
        }
        program.finish()
    }));
    outcome.unwrap_or_else(|_| panic!("program {seed}"))
}

#[test]
fn random_programs_of_nested_guards_agree_with_the_model() {
    let programs = if cfg!(miri) { 3 } else { u64::from(test_cases()) };
    let mut sum = [0_usize; 6];
    for seed in 0..programs {
        let Counts { refused, forgotten, out_of_order, borrowed, released, kept } = run(seed);
        let counts = [refused, forgotten, out_of_order, borrowed, released, kept];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    if programs >= 1_000 {
        assert!(sum.iter().all(|&count| count > 200), "{sum:?}");
    }
}
