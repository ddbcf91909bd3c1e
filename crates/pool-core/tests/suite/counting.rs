//! The allocator of the test binary: the system's, with a count for each thread, so that "allocates
//! nothing" is checked for what the pool does with host memory and not only for its blocks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// How many host allocations this thread makes in `body`.
pub(crate) fn allocations_in(body: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    body();
    ALLOCATIONS.get() - before
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: everything is the system allocator's; the count beside it is a plain thread-local without
// destructor, which allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[test]
fn the_count_sees_an_allocation() {
    assert_eq!(allocations_in(|| drop(std::hint::black_box(Box::new(1_u8)))), 1);
    assert_eq!(allocations_in(|| ()), 0);
}
