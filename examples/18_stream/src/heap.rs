//! A global allocator that counts the requests of each thread, and wraps any other allocator.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    /// A constant without a destructor, so reading it never allocates. An allocator must not
    /// allocate here.
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

/// Counts each request, then calls the inner allocator.
#[derive(Debug)]
pub struct Counting<Allocator>(
    /// The inner allocator.
    pub Allocator,
);

/// Returns the number of blocks that this thread has requested so far, including growths.
pub(crate) fn requests() -> u64 {
    REQUESTS.get()
}

fn note() {
    // An error means that the thread is ending, and that no code reads the count any more.
    let _ = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

// SAFETY: every call passes its arguments to the inner allocator and returns its result. The
// counting only accesses a constant thread-local, and neither allocates nor unwinds.
unsafe impl<Allocator: GlobalAlloc> GlobalAlloc for Counting<Allocator> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller upholds the same contract about `layout`.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller upholds the same contract about `layout`.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the block comes from the inner allocator with this layout, as the caller
        // guarantees for this type.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the block comes from the inner allocator with this layout, and the size is valid,
        // as the caller guarantees.
        unsafe { self.0.realloc(pointer, layout, size) }
    }
}
