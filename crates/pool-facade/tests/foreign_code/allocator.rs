//! The global allocator of this test binary: the system's, which first asks the hook of the thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

struct Hooked;

#[global_allocator]
static HOOKED: Hooked = Hooked;

/// The call that a hook sees.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Allocate,
    Free,
}

/// Runs before a call is served; returns `false` to refuse an allocation. It must not unwind.
pub(crate) type Hook = fn(Call) -> bool;

thread_local! {
    /// Without a destructor, so that the allocator itself can use it.
    static HOOK: Cell<Option<Hook>> = const { Cell::new(None) };
}

/// Runs the body with a hook on this thread; after it, and after a panic, the former one is back.
pub(crate) fn with_hook<R>(hook: Option<Hook>, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Hook>);
    impl Drop for Restore {
        fn drop(&mut self) {
            HOOK.set(self.0);
        }
    }
    let _restore = Restore(HOOK.replace(hook));
    body()
}

fn is_served(call: Call) -> bool {
    HOOK.get().is_none_or(|hook| hook(call))
}

// SAFETY: every call goes to the system's allocator unchanged, or is refused; hooks do not unwind.
unsafe impl GlobalAlloc for Hooked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_served(Call::Allocate) {
            return null_mut();
        }
        // SAFETY: the caller's promise is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_served(Call::Allocate) {
            return null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_served(Call::Allocate) {
            return null_mut();
        }
        // SAFETY: as above; memory of this allocator comes from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        is_served(Call::Free);
        // SAFETY: as for `realloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
