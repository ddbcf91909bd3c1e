//! Fault sweeps: the acceptance cases and random programs with the n-th block allocation failing, for
//! n = 1, 2, 3 … until nothing fails any more. Whatever fails: contents, counters and bytes still
//! agree with the model, the pool is usable, and no block is left.

use pool_conformance::cases::{self, Ending};
use pool_conformance::programs::{run_dynamic, run_lexical, runner, strategy, test_cases};
use pool_conformance::{HeapProbe, Refusal};
use proptest::strategy::{Strategy, ValueTree};

/// How the n-th allocation fails: alone, with all that follow, or by a panic.
const MODES: [fn(usize) -> Refusal; 3] = [Refusal::Once, Refusal::From, Refusal::PanicOnce];

/// How many random programs of each kind are swept: fewer than are run once, because each is run again
/// for every allocation that it makes.
fn programs() -> u32 {
    // Two at least, because one alone may allocate nothing.
    test_cases().div_ceil(400).max(2)
}

/// Runs `subject` with the first, the second, … allocation failing until none does; returns how many
/// did. `subject` is told how the allocations of this run fail.
fn sweep(mode: fn(usize) -> Refusal, mut subject: impl FnMut(&HeapProbe, Refusal)) -> usize {
    for nth in 0.. {
        let probe = HeapProbe::default();
        probe.ledger.refuse(mode(nth));
        subject(&probe, mode(nth));
        assert_eq!(probe.ledger.live_blocks(), 0, "{:?} left blocks", mode(nth));
        if probe.ledger.refused() == 0 {
            return nth;
        }
    }
    unreachable!("every subject ends")
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: takes Miri minutes, which runs every case once")]
fn every_case_with_the_nth_allocation_failing() {
    for case in cases::all::<HeapProbe>() {
        if let Ending::Skipped(why) = case.run(&HeapProbe::default()) {
            println!("SKIPPED: case \"{}\": {why}", case.name());
            continue;
        }
        let mut allocations = [0; 3];
        for (mode, allocations) in MODES.into_iter().zip(&mut allocations) {
            *allocations = sweep(mode, |probe, refusal| {
                let ending = case.run(probe);
                // At the byte limit a pool has freed what is idle before it asks, and asks once.
                let at_limit = case.name().contains("limit");
                let allowed = match (probe.ledger.refused(), refusal) {
                    (0, _) => [Ending::Passed, Ending::Passed],
                    // One refusal is made up for: by asking for less, or by freeing what is idle.
                    (_, Refusal::Once(_)) if !at_limit => [Ending::Passed, Ending::Passed],
                    (_, Refusal::PanicOnce(_)) => [Ending::Panicked, Ending::Panicked],
                    // Where the first attempt is for more than is needed, a case may also be over
                    // before it needs another block.
                    _ => [Ending::Refused, Ending::Passed],
                };
                let name = case.name();
                assert!(allowed.contains(&ending), "case {name} with {refusal:?}: {ending:?}");
            });
        }
        let [once, from, panicking] = allocations;
        // The run that fails nothing makes as many allocations, however those before it failed.
        assert_eq!((once, panicking), (from, from), "case {}", case.name());
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: takes Miri half a minute, whose random programs have allocations fail as well"
)]
fn random_lexical_programs_with_the_nth_allocation_failing() {
    let failed = sweep_programs(&strategy::lexical_program(false), |probe, program| {
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
    let failed = sweep_programs(&strategy::dynamic_program(false), |probe, program| {
        run_dynamic(probe, program);
    });
    assert!(failed > 0, "no program allocated anything");
}

/// Sweeps over some random programs; returns how many runs had an allocation fail.
fn sweep_programs<S: Strategy>(strategy: &S, run: impl Fn(&HeapProbe, &S::Value)) -> usize {
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

/// Tells what was being done if a check fails.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}
