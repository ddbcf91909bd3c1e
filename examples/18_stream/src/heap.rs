//! A global allocator that counts the requests of each thread, around any other allocator.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    /// Constant and without destructor: reading it never allocates, which an allocator must not.
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

/// Counts, then calls the inner allocator.
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
    // An error means that the thread is ending, when nothing reads the count.
    let _ = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

// SAFETY: every call goes to the inner allocator with its arguments and returns its result. The
// counting before it touches only a constant thread-local: it neither allocates nor unwinds.
unsafe impl<Allocator: GlobalAlloc> GlobalAlloc for Counting<Allocator> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the same contract about `layout`, which the caller upholds.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the same contract about `layout`, which the caller upholds.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: from the inner allocator with this layout, as the caller guarantees for this
        // type.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as in `dealloc`, and the caller guarantees that the size is valid.
        unsafe { self.0.realloc(pointer, layout, size) }
    }
}
