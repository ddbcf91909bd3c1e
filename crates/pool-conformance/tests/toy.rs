//! The smallest backend passes what every backend passes, with a ledger around it.

use pool_conformance::programs::{run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::{ToyProbe, run_all};

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: under Miri the random programs alone; other backends run the cases"
)]
fn toy_passes_every_case() {
    run_all(&ToyProbe::default());
}

#[test]
fn random_programs_agree_with_the_model() {
    // The state machine is the same for every backend, and others run more of them.
    let programs = test_cases().div_ceil(10);
    let lexical = run_random_lexical(programs, ToyProbe::default);
    let dynamic = run_random_dynamic(programs, ToyProbe::default);
    assert_eq!((lexical.programs, dynamic.programs), (programs.into(), programs.into()));
}
