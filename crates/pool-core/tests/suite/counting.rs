//! The allocator of the test binary: the system's, with a count for each thread, so that "allocates
//! nothing" is also checked for the pool's host memory, and not only for its blocks. On request it
//! refuses memory, so that the pool's own bookkeeping can run out of memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// The number of host allocations of this thread that still succeed before one is refused.
    static GIVEN_BEFORE_REFUSAL: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Returns the number of host allocations that this thread makes in `body`.
pub(crate) fn allocations_in(body: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    body();
    ALLOCATIONS.get() - before
}

/// Refuses one host allocation that this thread makes in `body`, after `given_before` that succeed.
/// Also returns `true` if one was refused. All other memory in `body` must be refusable.
pub(crate) fn refusing_one<R>(given_before: usize, body: impl FnOnce() -> R) -> (R, bool) {
    GIVEN_BEFORE_REFUSAL.set(Some(given_before));
    let result = body();
    (result, GIVEN_BEFORE_REFUSAL.take().is_none())
}

/// Counts an allocation; returns `true` if it is served.
fn given() -> bool {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    let left = GIVEN_BEFORE_REFUSAL.get();
    GIVEN_BEFORE_REFUSAL.set(left.and_then(|left| left.checked_sub(1)));
    left != Some(0)
}

// SAFETY: all memory is the system allocator's, or null, which means that there is none. The
// thread-locals beside it are plain and without destructor, and allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !given() {
            return null_mut();
        }
        // SAFETY: the same contract, which the caller upholds.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !given() {
            return null_mut();
        }
        // SAFETY: the same contract, which the caller upholds.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !given() {
            return null_mut();
        }
        // SAFETY: the same contract, which the caller upholds.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the same contract, which the caller upholds.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[test]
fn a_refusal_is_seen_once_and_only_where_it_was_asked_for() {
    let reserve = || Vec::<u64>::new().try_reserve(10).is_ok();
    assert_eq!(refusing_one(0, reserve), (false, true));
    assert_eq!(refusing_one(1, || [reserve(), reserve(), reserve()]), ([true, false, true], true));
    assert_eq!(refusing_one(1, reserve), (true, false));
    assert!(reserve());
}

#[test]
fn the_count_sees_an_allocation() {
    assert_eq!(allocations_in(|| drop(std::hint::black_box(Box::new(1_u8)))), 1);
    assert_eq!(allocations_in(|| ()), 0);
}
