//! A global allocator that counts what each thread asks it for, around whichever does the work.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    /// Constant and without destructor: reading it never allocates, which an allocator must not.
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

/// Counts, then asks the allocator in it.
#[derive(Debug)]
pub struct Counting<Allocator>(
    /// What does the work.
    pub Allocator,
);

/// Returns how many blocks this thread has asked for so far, grown ones included.
pub(crate) fn requests() -> u64 {
    REQUESTS.get()
}

fn note() {
    // An error means that the thread is ending, when nobody asks.
    let _ = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

// SAFETY: every call goes to the inner allocator with the arguments it came with and returns what that returns. The
// counting before it touches a constant thread-local only: it neither allocates nor unwinds.
unsafe impl<Allocator: GlobalAlloc> GlobalAlloc for Counting<Allocator> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promise about `layout`, passed on.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promise about `layout`, passed on.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: from the inner allocator with this layout, as the caller promises of this type.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as in `dealloc`, and the caller promises that the size is valid.
        unsafe { self.0.realloc(pointer, layout, size) }
    }
}
