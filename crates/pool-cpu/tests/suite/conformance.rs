//! What every backend passes, on host memory: the acceptance cases, and random programs against the
//! naive model. Host memory cannot be told to fail, so the programs meet the byte limit alone.

use pool_conformance::programs::{Tally, run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::{Failure, Probe, run_all};
use pool_core::{Acquired, DynamicPool, Element, Handle, Scope};
use pool_cpu::Cpu;

/// Looks into slices.
struct CpuProbe;

impl Probe for CpuProbe {
    type Backend = Cpu;

    fn context(&self) {}

    pool_conformance::slice_access!();

    fn acquire_with<'s, T: Element>(
        &self,
        scope: &Scope<'s, Cpu>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Acquired<'s, Cpu, T> {
        scope.try_acquire_with(length, element)
    }

    fn acquire_named_with<T: Element>(
        &self,
        pool: &mut DynamicPool<Cpu>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Handle<T>, Failure<Self>> {
        pool.try_acquire_with(length, element)
    }
}

#[test]
fn cpu_passes_every_case() {
    run_all(&CpuProbe);
}

#[test]
fn random_lexical_programs_agree_with_the_model() {
    let tally = run_random_lexical(programs(), || CpuProbe);
    assert_nothing_missed(tally, &["out of memory", "stale handles"]);
}

#[test]
fn random_dynamic_programs_agree_with_the_model() {
    let tally = run_random_dynamic(programs(), || CpuProbe);
    assert_nothing_missed(tally, &["out of memory"]);
}

/// Under Miri a fifth of them: the backend's own code is its blocks, and pool-core runs them all.
fn programs() -> u32 {
    if cfg!(miri) { test_cases().div_ceil(5) } else { test_cases() }
}

/// From a thousand programs on, every rare case is met that host memory can show.
fn assert_nothing_missed(tally: Tally, impossible: &[&str]) {
    if tally.programs >= 1_000 {
        assert_eq!(tally.missing(), impossible, "{tally:?}");
    }
}
