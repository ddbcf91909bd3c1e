//! Every form of `with_pool!` and `try_with_pool!`, and every way to leave their block, with
//! warnings as errors. This module is compiled twice, as edition 2024 here and as edition 2021 in
//! `testing/edition-2021`. The two differ in the drop order of temporaries of a tail expression,
//! and in the value of a block that never ends.
//!
//! Whichever way a block is left, its pool is back in the list afterwards.

#![deny(warnings)]

mod closure_form;
mod leaving;
mod naming;
mod values;

use std::panic::resume_unwind;

use pool_facade::CpuError;
use pool_facade::prelude::*;

/// The error of the tests of this module.
type Refused = PoolError<CpuError>;

/// Returns the number of this thread's pools, which must all be idle.
fn idle_pools() -> usize {
    local::<Cpu>().stats().pools
}

/// Returns the address of the first slot's block in the next pool.
fn next_block() -> usize {
    with_pool!(|scope| { scope.acquire::<u64, _>(500).as_ptr() as usize })
}

/// Runs the body on a thread of its own, and checks that it leaves one pool, the one that it found.
fn returns_its_pool<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|threads| {
        let checked = || {
            let block = next_block();
            let value = body();
            assert_eq!((idle_pools(), next_block()), (1, block), "the pool is back in its list");
            value
        };
        threads.spawn(checked).join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
