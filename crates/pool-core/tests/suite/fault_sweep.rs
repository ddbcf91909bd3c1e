//! Fault sweeps: the acceptance cases and random programs with the n-th block allocation failing,
//! for n = 1, 2, 3 … until none fails. After each failure, contents, counters and bytes still agree
//! with the model, the pool is usable, and no block is left. The same code sweeps slots and stacks.

use pool_conformance::cases::{self, Ending};
use pool_conformance::programs::{run_dynamic, run_lexical, runner, strategy, test_cases};
use pool_conformance::{BackendProbe, HeapProbe, Ledger, Refusal};
use proptest::strategy::{Strategy, ValueTree};

use crate::stacked_probe::StackedProbe;

/// The failure of the n-th allocation: alone, with all later ones, or by a panic.
const MODES: [fn(usize) -> Refusal; 3] = [Refusal::Once, Refusal::From, Refusal::PanicOnce];

/// Returns the number of random programs of each kind to sweep. It is lower than the number run
/// once, because each is run again for every allocation that it makes.
fn programs() -> u32 {
    // Two at least, because one alone may allocate nothing.
    test_cases().div_ceil(400).max(2)
}

/// Runs `subject` with the first, the second, … allocation failing until none does; returns the
/// number that did. `subject` gets the failure of its run.
fn sweep<P: BackendProbe + Default>(
    mode: fn(usize) -> Refusal,
    mut subject: impl FnMut(&P, Refusal),
) -> usize {
    for nth in 0.. {
        let probe = P::default();
        ledger(&probe).refuse(mode(nth));
        subject(&probe, mode(nth));
        assert_eq!(ledger(&probe).live_blocks(), 0, "{:?} left blocks", mode(nth));
        if ledger(&probe).refused() == 0 {
            return nth;
        }
    }
    unreachable!("every subject ends")
}

/// The ledger that refuses the allocations.
fn ledger<P: BackendProbe>(probe: &P) -> &Ledger {
    probe.refusal().expect("a probe of the heap")
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: takes Miri minutes, which runs every case once")]
fn every_case_with_the_nth_allocation_failing() {
    sweep_cases::<HeapProbe>();
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: takes Miri minutes, which runs every case once")]
fn every_case_of_stacks_with_the_nth_allocation_failing() {
    sweep_cases::<StackedProbe>();
}

fn sweep_cases<P: BackendProbe + Default>() {
    for case in cases::all::<P>() {
        if let Ending::Skipped(why) = case.run(&P::default()) {
            println!("SKIPPED: case \"{}\": {why}", case.name());
            continue;
        }
        let mut allocations = [0; 3];
        for (mode, allocations) in MODES.into_iter().zip(&mut allocations) {
            *allocations = sweep(mode, |probe: &P, refusal| {
                let ending = case.run(probe);
                // At the byte limit a pool has freed its idle blocks before it allocates, and
                // allocates once.
                let at_limit = case.name().contains("limit");
                let allowed = match (ledger(probe).refused(), refusal) {
                    (0, _) => [Ending::Passed, Ending::Passed],
                    // A single refusal is compensated: by a smaller request, or by freeing idle
                    // blocks.
                    (_, Refusal::Once(_)) if !at_limit => [Ending::Passed, Ending::Passed],
                    (_, Refusal::PanicOnce(_)) => [Ending::Panicked, Ending::Panicked],
                    // If the first attempt is for more than is needed, a case may also be over
                    // before it needs another block.
                    _ => [Ending::Refused, Ending::Passed],
                };
                let name = case.name();
                assert!(allowed.contains(&ending), "case {name} with {refusal:?}: {ending:?}");
            });
        }
        let [once, from, panicking] = allocations;
        // The run without a failure makes the same number of allocations, independently of the
        // earlier failures.
        assert_eq!((once, panicking), (from, from), "case {}", case.name());
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: takes Miri half a minute, whose random programs have allocations fail as well"
)]
fn random_lexical_programs_with_the_nth_allocation_failing() {
    sweep_lexical::<HeapProbe>();
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: takes Miri half a minute, whose random programs have allocations fail as well"
)]
fn random_lexical_programs_of_stacks_with_the_nth_allocation_failing() {
    sweep_lexical::<StackedProbe>();
}

fn sweep_lexical<P: BackendProbe + Default>() {
    let failed = sweep_programs(&strategy::lexical_program(false), |probe: &P, program| {
        run_lexical(probe, program);
    });
    assert!(failed > 0, "no program allocated anything");
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: takes Miri half a minute, whose random programs have allocations fail as well"
)]
fn random_dynamic_programs_with_the_nth_allocation_failing() {
    sweep_dynamic::<HeapProbe>();
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: takes Miri half a minute, whose random programs have allocations fail as well"
)]
fn random_dynamic_programs_of_stacks_with_the_nth_allocation_failing() {
    sweep_dynamic::<StackedProbe>();
}

fn sweep_dynamic<P: BackendProbe + Default>() {
    let failed = sweep_programs(&strategy::dynamic_program(false), |probe: &P, program| {
        run_dynamic(probe, program);
    });
    assert!(failed > 0, "no program allocated anything");
}

/// Sweeps over some random programs; returns how many runs had an allocation fail.
fn sweep_programs<P: BackendProbe + Default, S: Strategy>(
    strategy: &S,
    run: impl Fn(&P, &S::Value),
) -> usize {
    let mut runner = runner(programs());
    let mut failed = 0;
    for _ in 0..programs() {
        let program = strategy.new_tree(&mut runner).expect("a program").current();
        for mode in MODES {
            failed += sweep(mode, |probe, refusal| {
                let _context = OnPanic(|| println!("{refusal:?} in {program:#?}"));
                run(probe, &program);
            });
        }
    }
    failed
}

/// Prints the current step if a check fails.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}
