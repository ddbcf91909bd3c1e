//! What a thread gives up while it ends.
//!
//! In debug builds wgpu keeps track of its locks in a thread-local variable, and panics where a buffer is dropped after
//! that variable: in the destructor of another thread-local variable, such as the pools of a thread. So buffers and
//! streams that are given up there are left to whoever comes next. In a browser there are no other threads.

#[cfg(not(target_arch = "wasm32"))]
mod orphans {
    use std::any::Any;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// Something of wgpu's, of which nothing but its drop is left to do.
    type Orphan = Box<dyn Any + Send>;

    static ORPHANS: Mutex<Vec<Orphan>> = Mutex::new(Vec::new());
    /// Whether there may be orphans, so that nobody locks for nothing.
    static ARE_THERE: AtomicBool = AtomicBool::new(false);

    /// Has a destructor, and so an end.
    struct Sentinel;

    impl Drop for Sentinel {
        fn drop(&mut self) {}
    }

    thread_local! {
        /// Made on a thread after wgpu's own variables, because destructors run in the opposite order.
        static SENTINEL: Sentinel = const { Sentinel };
    }

    /// Makes the variable whose end is noticed.
    pub(super) fn watch() {
        let _ = SENTINEL.try_with(|_| ());
    }

    /// Whether the variables of this thread are being dropped, wgpu's perhaps before.
    pub(crate) fn is_ending() -> bool {
        SENTINEL.try_with(|_| ()).is_err()
    }

    /// Leaves something to be dropped by whoever comes next.
    pub(crate) fn leave(orphan: impl Any + Send) {
        orphans().push(Box::new(orphan));
        ARE_THERE.store(true, Ordering::Release);
    }

    /// Drops what threads have left that have ended.
    pub(crate) fn drop_orphans() {
        if ARE_THERE.load(Ordering::Acquire) && !is_ending() {
            ARE_THERE.store(false, Ordering::Release);
            let left = std::mem::take(&mut *orphans());
            // Not under the lock: what is dropped may leave others.
            drop(left);
        }
    }

    fn orphans() -> MutexGuard<'static, Vec<Orphan>> {
        ORPHANS.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(target_arch = "wasm32")]
mod orphans {
    pub(super) fn watch() {}

    pub(crate) fn is_ending() -> bool {
        false
    }

    pub(crate) fn leave<T>(_: T) {}

    pub(crate) fn drop_orphans() {}
}

use std::cell::Cell;

pub(crate) use orphans::{drop_orphans, is_ending, leave};

/// Sees to it that the end of this thread is noticed. At the first call of a thread, `call_wgpu` makes wgpu's
/// thread-local variables.
#[inline]
pub(crate) fn watch_thread(call_wgpu: impl FnOnce()) {
    thread_local! {
        /// Without a destructor, so it can be asked for at any time.
        static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_WATCHED.get() {
        IS_WATCHED.set(true);
        call_wgpu();
        orphans::watch();
    }
}
