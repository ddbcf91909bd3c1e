//! A global allocator that counts the requests of a thread while the thread is watched. The binary
//! that measures times does not use this allocator, so counting does not slow down the heap
//! columns.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use super::batches::per_pass;
use crate::case::Case;
use crate::record::Count;

thread_local! {
    /// A constant without a destructor, so reading it never allocates.
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

/// Counts each request, then calls the system allocator.
#[derive(Debug)]
pub struct Counting;

// SAFETY: every call passes its arguments to the system allocator and returns its result. Counting
// only accesses a constant thread-local.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the block comes from `System` with this layout, as the caller guarantees for this
        // type.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the block comes from `System` with this layout, and the size is valid, as the
        // caller guarantees.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn note() {
    // An error means that the thread is ending, and is no longer watched.
    let _ = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

/// Counts the requests of one pass of each case, in steady state.
#[must_use]
pub fn count(cases: &[Case]) -> Vec<Count> {
    cases.iter().map(count_one).collect()
}

fn count_one(case: &Case) -> Count {
    let mut prepared = (case.prepare)();
    // A whole number of cycles through every table of lengths and shapes.
    let passes = if matches!(case.workload, "real work" | "growth") { 1 } else { 320 };
    prepared(passes);
    let before = REQUESTS.get();
    prepared(passes);
    let requests = REQUESTS.get() - before;
    Count { name: case.name(), count: per_pass(requests, passes) }
}
