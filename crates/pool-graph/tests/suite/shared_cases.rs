//! The cases that every source passes, on synthetic addresses; afterwards everything is given back.

use pool_graph::SyntheticMemory;

use crate::cases::{Subject, arenas, pools, threads};

fn on_synthetic_addresses(case: impl FnOnce(&Subject<SyntheticMemory>)) {
    let source = SyntheticMemory::new();
    case(&Subject { source: source.clone(), largest: 1 << 30 });
    assert_eq!((source.held(), source.mistakes()), (0, 0));
    assert!(source.allocations() > 0);
}

macro_rules! cases {
    ($($module:ident::$case:ident),* $(,)?) => {
        $(#[test]
        fn $case() {
            on_synthetic_addresses($module::$case);
        })*
    };
}

cases! {
    pools::sizes_and_alignments,
    pools::impossible_requests,
    pools::same_addresses_after_reset,
    pools::retention,
    pools::neighbours_merge,
    pools::names_of_no_block,
    pools::disposal,
    pools::leased_memory_stays,
    arenas::regions_are_aligned,
    arenas::monotone_never_reuses,
    arenas::linear_rewinds,
    arenas::leases_keep_the_buffer,
}

#[test]
#[cfg_attr(miri, ignore = "where threads wait, parking_lot makes pointers of numbers")]
fn sixteen_threads_never_overlap() {
    on_synthetic_addresses(|subject| threads::no_overlap(subject, 16, 10_000));
}
