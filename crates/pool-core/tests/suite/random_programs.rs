//! Acceptance case 1: random nested programs against a naive model. `POOL_TEST_CASES` is their
//! number, `POOL_TEST_SEED` their seed.

use pool_conformance::HeapProbe;
use pool_conformance::programs::{Tally, run_random_dynamic, run_random_lexical, test_cases};

/// The number of programs from which on every rare case occurs.
const ENOUGH: u64 = 1_000;

#[test]
fn random_lexical_programs_agree_with_the_model() {
    let tally = run_random_lexical(test_cases(), HeapProbe::default);
    assert_nothing_missed(tally, &["stale handles"]);
}

#[test]
fn random_dynamic_programs_agree_with_the_model() {
    let tally = run_random_dynamic(test_cases(), HeapProbe::default);
    assert_nothing_missed(tally, &[]);
}

/// Programs that never meet a full table or a refused block would show nothing about them.
fn assert_nothing_missed(tally: Tally, impossible: &[&str]) {
    if tally.programs >= ENOUGH {
        assert_eq!(tally.missing(), impossible, "{tally:?}");
        assert_eq!(tally.host.missing(), [""; 0], "{tally:?}");
    }
}
