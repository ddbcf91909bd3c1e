//! The acceptance cases that every backend passes, on the heap of the tests.

use pool_conformance::{HeapProbe, run_all};

#[test]
fn heap_passes_every_case() {
    run_all(&HeapProbe::default());
}
