//! The global allocator of this test binary: the system's, with a count of its calls for each
//! thread, so that the test harness on other threads is not counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    /// Without a destructor and without a first-use step, so that the allocator itself can use it.
    static CALLS: Cell<Calls> = const { Cell::new(Calls { allocations: 0, frees: 0 }) };
}

/// The numbers of calls of the allocator by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Allocations and reallocations.
    pub(crate) allocations: u64,
    /// Frees.
    pub(crate) frees: u64,
}

impl Calls {
    /// Those of this thread, so far.
    pub(crate) fn so_far() -> Self {
        CALLS.get()
    }

    /// Those of this thread since `before`.
    pub(crate) fn since(before: Self) -> Self {
        let now = Self::so_far();
        Self { allocations: now.allocations - before.allocations, frees: now.frees - before.frees }
    }
}

fn count_allocation() {
    let calls = CALLS.get();
    CALLS.set(Calls { allocations: calls.allocations + 1, ..calls });
}

fn count_free() {
    let calls = CALLS.get();
    CALLS.set(Calls { frees: calls.frees + 1, ..calls });
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches a thread-local that
// neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation();
        // SAFETY: the caller's promise is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_allocation();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_allocation();
        // SAFETY: as above; memory of this allocator comes from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count_free();
        // SAFETY: as for `realloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[test]
fn calls_are_counted_on_their_own_thread() {
    let before = Calls::so_far();
    assert_eq!(Calls::since(before), Calls { allocations: 0, frees: 0 });
    let mut list = std::hint::black_box(Vec::<u64>::with_capacity(1));
    assert_eq!(Calls::since(before), Calls { allocations: 1, frees: 0 });
    list.resize(1000, 1);
    assert_eq!(Calls::since(before), Calls { allocations: 2, frees: 0 });
    drop(std::hint::black_box(list));
    assert_eq!(Calls::since(before), Calls { allocations: 2, frees: 1 });
    let zeroed = std::hint::black_box(vec![0_u8; 100]);
    assert_eq!(Calls::since(before), Calls { allocations: 3, frees: 1 });

    let elsewhere = std::thread::spawn(move || {
        let before = Calls::so_far();
        drop(std::hint::black_box(zeroed));
        std::hint::black_box(Box::new(1_u64));
        Calls::since(before)
    });
    let at_start = Calls::so_far();
    let elsewhere = elsewhere.join().unwrap();
    assert_eq!(elsewhere, Calls { allocations: 1, frees: 2 });
    assert!(Calls::since(at_start).allocations <= 1, "what the other thread did is not ours");
}
