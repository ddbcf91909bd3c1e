//! The acceptance cases that every backend passes, on the heap of the tests.

use pool_conformance::{HeapProbe, run_all};

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri runs the same cases on the blocks of pool-cpu")]
fn heap_passes_every_case() {
    run_all(&HeapProbe::default());
}
