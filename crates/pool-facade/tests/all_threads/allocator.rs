//! The global allocator of this test binary: the system's, which first asks the hook of the thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

struct Hooked;

#[global_allocator]
static HOOKED: Hooked = Hooked;

/// Runs before each allocation and free of its thread. Returns `false` to refuse an allocation.
/// Must not unwind.
pub(crate) type Hook = fn() -> bool;

thread_local! {
    /// Without a destructor, so that the allocator itself can use it.
    static HOOK: Cell<Option<Hook>> = const { Cell::new(None) };
}

/// Runs the body with a hook on this thread, which is not called from inside itself.
pub(crate) fn with_hook<R>(hook: Hook, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Hook>);
    impl Drop for Restore {
        fn drop(&mut self) {
            HOOK.set(self.0);
        }
    }
    let _restore = Restore(HOOK.replace(Some(hook)));
    body()
}

fn is_served() -> bool {
    let Some(hook) = HOOK.take() else { return true };
    let served = hook();
    HOOK.set(Some(hook));
    served
}

// SAFETY: every call goes to the system's allocator unchanged, or is refused; hooks do not unwind.
unsafe impl GlobalAlloc for Hooked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_served() {
            return null_mut();
        }
        // SAFETY: the caller's promise is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_served() {
            return null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        is_served();
        // SAFETY: as above; memory of this allocator comes from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
