//! The cases of all sources, on synthetic addresses; afterwards all memory is freed.

use pool_graph::SyntheticMemory;

use crate::cases::{Subject, shared_cases, threads};

fn on_synthetic_addresses(case: impl FnOnce(&Subject<SyntheticMemory>)) {
    let source = SyntheticMemory::new();
    case(&Subject { source: source.clone(), largest: 1 << 30 });
    assert_eq!((source.held(), source.mistakes()), (0, 0));
    assert!(source.allocations() > 0);
}

shared_cases!(on_synthetic_addresses);

#[test]
#[cfg_attr(miri, ignore = "where threads wait, parking_lot makes pointers of numbers")]
fn sixteen_threads_never_overlap() {
    on_synthetic_addresses(|subject| threads::no_overlap(subject, 16, 10_000));
}
