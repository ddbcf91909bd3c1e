//! Compiles and runs the recipes of `docs/cookbook.md` as documentation tests. They need crates
//! that the rest of the repository does not, so this crate is a separate workspace.
//! `cargo xtask test --only cookbook` runs it.

#[allow(dead_code, reason = "the tests of pool-facade use this allocator and need more")]
#[path = "../../../crates/pool-facade/tests/zero_allocation/counting.rs"]
mod counting;

/// Returns the number of this thread's requests to the global allocator while `work` runs.
pub fn allocations<R>(work: impl FnOnce() -> R) -> u64 {
    let before = counting::Calls::so_far();
    work();
    counting::Calls::since(before).allocations
}

#[doc = include_str!("../../../docs/cookbook.md")]
#[cfg(doctest)]
struct Cookbook;
