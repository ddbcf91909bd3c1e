//! What every backend passes: all cases, and random programs against the naive model.

use pool_conformance::programs::{run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::run_all;

use crate::support::{WgpuProbe, stream};

/// How many random programs of each kind: what they read back goes through the device each time.
fn programs() -> u32 {
    test_cases().div_ceil(20)
}

#[test]
fn every_case_passes() {
    let Some((stream, _quiet)) = stream() else { return };
    run_all(&WgpuProbe::new(stream));
}

#[test]
fn random_lexical_programs_agree_with_the_model() {
    let Some((stream, _quiet)) = stream() else { return };
    let programs = programs();
    let tally = run_random_lexical(programs, || WgpuProbe::new(stream.clone()));
    assert_eq!(tally.programs, u64::from(programs));
}

#[test]
fn random_dynamic_programs_agree_with_the_model() {
    let Some((stream, _quiet)) = stream() else { return };
    let programs = programs();
    let tally = run_random_dynamic(programs, || WgpuProbe::new(stream.clone()));
    assert_eq!(tally.programs, u64::from(programs));
}
