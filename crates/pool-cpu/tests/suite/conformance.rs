//! The conformance tests of every backend, on host memory that is watched: the acceptance cases,
//! and random programs against the naive model.

use pool_conformance::programs::{Tally, run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::{
    BackendProbe, Ledger, LedgeredBackend, LedgeredContext, SkipReason, run_all,
};
use pool_cpu::Cpu;

/// Looks into slices.
#[derive(Default)]
struct CpuProbe {
    ledger: Ledger,
}

impl BackendProbe for CpuProbe {
    type Backend = LedgeredBackend<Cpu>;

    fn context(&self) -> LedgeredContext<Cpu> {
        // SAFETY: views of `Cpu` are slices.
        unsafe { LedgeredContext::new((), self.ledger.clone()) }
    }

    pool_conformance::slice_access!();

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}

#[test]
fn cpu_passes_every_case() {
    run_all(&CpuProbe::default());
}

#[test]
fn random_lexical_programs_agree_with_the_model() {
    let tally = run_random_lexical(programs(), CpuProbe::default);
    assert_nothing_missed(tally, &["stale handles"]);
}

#[test]
fn random_dynamic_programs_agree_with_the_model() {
    let tally = run_random_dynamic(programs(), CpuProbe::default);
    assert_nothing_missed(tally, &[]);
}

/// Under Miri a fifth of them: the backend's own code is its blocks, and pool-core runs them all.
fn programs() -> u32 {
    if cfg!(miri) { test_cases().div_ceil(5) } else { test_cases() }
}

/// From a thousand programs on, every existing rare case occurs.
fn assert_nothing_missed(tally: Tally, impossible: &[&str]) {
    if tally.programs >= 1_000 {
        assert_eq!(tally.missing(), impossible, "{tally:?}");
        assert_eq!(tally.host.missing(), [""; 0], "{tally:?}");
    }
}
