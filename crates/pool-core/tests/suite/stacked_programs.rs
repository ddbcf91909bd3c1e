//! The random programs and the cases of slots, over stacks.

use pool_conformance::programs::{Tally, run_random_dynamic, run_random_lexical, test_cases};

use crate::stacked_probe::StackedProbe;

/// From so many programs on, every rare case is met.
const ENOUGH: u64 = 1_000;

#[test]
fn random_lexical_programs_agree_with_the_model() {
    let tally = run_random_lexical(test_cases(), StackedProbe::default);
    assert_nothing_missed(tally, &["stale handles"]);
}

#[test]
fn random_dynamic_programs_agree_with_the_model() {
    let tally = run_random_dynamic(test_cases(), StackedProbe::default);
    assert_nothing_missed(tally, &[]);
}

/// Programs that never meet a full chunk or a refused block would show nothing about them.
fn assert_nothing_missed(tally: Tally, impossible: &[&str]) {
    if tally.programs >= ENOUGH {
        assert_eq!(tally.missing(), impossible, "{tally:?}");
        assert_eq!(tally.host.missing(), [""; 0], "{tally:?}");
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: too slow under Miri, which runs the random programs over stacks"
)]
fn stacks_pass_every_case() {
    pool_conformance::run_all(&StackedProbe::default());
}
