//! The smallest backend passes what every backend passes.

use pool_conformance::programs::{run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::{Probe, Toy, run_all};

/// Looks into slices.
struct ToyProbe;

impl Probe for ToyProbe {
    type Backend = Toy;

    fn context(&self) {}

    pool_conformance::slice_access!();
}

#[test]
#[cfg_attr(
    miri,
    ignore = "SKIPPED: under Miri the random programs alone; other backends run the cases"
)]
fn toy_passes_every_case() {
    run_all(&ToyProbe);
}

#[test]
fn random_programs_agree_with_the_model() {
    // The state machine is the same for every backend, and others run more of them.
    let programs = test_cases().div_ceil(10);
    assert_eq!(run_random_lexical(programs, || ToyProbe).programs, u64::from(programs));
    assert_eq!(run_random_dynamic(programs, || ToyProbe).programs, u64::from(programs));
}
