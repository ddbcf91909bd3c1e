//! Cases of all sources of memory: synthetic addresses, the simulated driver, a device.

#![allow(dead_code, reason = "each test program uses what it can ask for")]

pub(crate) mod arenas;
pub(crate) mod intervals;
pub(crate) mod pools;
pub(crate) mod threads;

use pool_graph::{CUDAGraphMemoryPool, GraphPoolConfig, MemorySource};

pub(crate) const MIB: u64 = 1 << 20;

/// Declares a test of each shared case, run by `$run`, with these attributes.
macro_rules! shared_cases {
    ($run:ident $(, #[$attribute:meta])*) => {
        $crate::cases::shared_cases! {
            @tests $run, [$(#[$attribute])*]:
            pools::sizes_and_alignments,
            pools::impossible_requests,
            pools::the_maximum_holds,
            pools::same_addresses_after_reset,
            pools::retention,
            pools::neighbours_merge,
            pools::names_of_no_block,
            pools::disposal,
            pools::leased_memory_stays,
            arenas::regions_are_aligned,
            arenas::monotone_never_reuses,
            arenas::requests_at_the_edges,
            arenas::linear_rewinds,
            arenas::leases_keep_the_buffer,
        }
    };
    (@tests $run:ident, $attributes:tt: $($module:ident::$case:ident,)*) => {
        $($crate::cases::shared_cases! { @test $run, $attributes, $module::$case })*
    };
    (@test $run:ident, [$(#[$attribute:meta])*], $module:ident::$case:ident) => {
        #[test]
        $(#[$attribute])*
        fn $case() {
            $run($crate::cases::$module::$case);
        }
    };
}
pub(crate) use shared_cases;

/// A source of memory under test, and the memory that a case may use.
pub(crate) struct Subject<M> {
    pub(crate) source: M,
    /// The largest single allocation in a case, in bytes.
    pub(crate) largest: u64,
}

impl<M: MemorySource + Clone> Subject<M> {
    pub(crate) fn pool(&self, initial: u64, maximum: u64) -> CUDAGraphMemoryPool<M> {
        CUDAGraphMemoryPool::with_config(self.source.clone(), GraphPoolConfig { initial, maximum })
    }
}
