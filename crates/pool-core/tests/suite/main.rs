//! The integration tests of the state machine: named cases, random programs against a naive model,
//! and sweeps that fail the n-th allocation.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a check that fails panics, also in what the tests share"
)]
#![allow(
    clippy::drop_non_drop,
    clippy::forget_non_drop,
    reason = "that ending and forgetting a scope or a view are the same is what some tests are about"
)]

use pool_conformance::HeapBackend;

/// The backend of the modules beside this file. The modules that `stacks` names also run over
/// stacks.
type Heap = HeapBackend;

#[cfg(feature = "allocator-api2")]
mod allocator;
mod arming;
mod backends;
mod bookkeeping;
mod boxes;
mod config;
mod conformance;
mod counting;
mod dynamic_pool;
mod elements;
mod errors;
mod failures;
mod family;
mod fault_sweep;
mod first_use;
mod free_list;
#[cfg(debug_assertions)]
mod growing_stacks;
mod growth;
mod handles;
mod keep;
mod keep_loops;
mod kinds_of_shapes;
mod lenders;
mod limits;
mod live_bytes;
mod mark_programs;
mod marks;
mod nested_hooks;
mod nested_programs;
mod nested_stacks;
mod nested_support;
mod nesting;
mod over_stacks;
mod overflow;
mod owners;
mod poison;
mod random_programs;
mod scopes;
mod settling;
mod shape_cache;
mod shape_programs;
mod shared_pool;
mod shared_programs;
mod simulation;
mod slots;
mod stacked;
mod stacked_attacks;
mod stacked_bookkeeping;
mod stacked_padding;
mod stacked_probe;
mod stacked_programs;
mod stacked_vectors;
mod stats;
mod support;
mod thread_list;
mod threads;
mod uninit;
mod user_code;
mod vectors;
#[cfg(feature = "tracing")]
mod warnings;
mod wide_elements;
