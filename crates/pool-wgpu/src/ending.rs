//! Threads that end.
//!
//! In debug builds wgpu tracks its locks in a thread-local variable. It panics if it is called
//! after that variable was dropped, for example in the destructor of another thread-local variable,
//! such as the pools of a thread. So calls are refused there, and buffers and streams that are
//! dropped there are left to another thread. In a browser there are no other threads.

#[cfg(not(target_arch = "wasm32"))]
mod threads {
    use std::any::Any;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use crate::error::WgpuError;

    /// A value of wgpu's that is only left to be dropped.
    type Orphan = Box<dyn Any + Send>;

    static ORPHANS: Mutex<Vec<Orphan>> = Mutex::new(Vec::new());
    /// Set while there may be orphans, so that the mutex is locked only then.
    static ARE_THERE: AtomicBool = AtomicBool::new(false);

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum State {
        /// The thread has called nothing of this crate.
        New,
        /// wgpu can be called.
        Running,
        /// The thread's variables are being dropped, possibly including wgpu's.
        Ending,
    }

    /// Records the end of its thread.
    struct Sentinel;

    impl Drop for Sentinel {
        fn drop(&mut self) {
            STATE.set(State::Ending);
        }
    }

    thread_local! {
        /// Has no destructor, so that it can be read at any time.
        static STATE: Cell<State> = const { Cell::new(State::New) };
        /// Made on a thread after wgpu's own variables, because destructors run in the opposite order.
        static SENTINEL: Sentinel = const { Sentinel };
    }

    /// Checks that this thread may call wgpu. At the thread's first check, `call_wgpu` makes wgpu's variables.
    ///
    /// # Errors
    ///
    /// [`WgpuError::ThreadEnding`].
    #[inline]
    pub(crate) fn check_thread(call_wgpu: impl FnOnce()) -> Result<(), WgpuError> {
        match STATE.get() {
            State::Running => Ok(()),
            State::New => watch(call_wgpu),
            State::Ending => Err(WgpuError::ThreadEnding),
        }
    }

    /// Checks that this thread is not known to end.
    ///
    /// # Errors
    ///
    /// [`WgpuError::ThreadEnding`].
    pub(crate) fn check_not_ending() -> Result<(), WgpuError> {
        if is_ending() { Err(WgpuError::ThreadEnding) } else { Ok(()) }
    }

    #[cold]
    fn watch(call_wgpu: impl FnOnce()) -> Result<(), WgpuError> {
        // It panics if the thread is ending and the user's own calls made wgpu's variables earlier.
        let called = catch_unwind(AssertUnwindSafe(call_wgpu));
        if called.is_err() || SENTINEL.try_with(|_| ()).is_err() {
            return Err(WgpuError::ThreadEnding);
        }
        STATE.set(State::Running);
        Ok(())
    }

    /// Returns `true` if the variables of this thread are being dropped.
    #[inline]
    pub(crate) fn is_ending() -> bool {
        STATE.get() == State::Ending
    }

    /// Leaves a value for another thread to drop.
    pub(crate) fn leave(orphan: impl Any + Send) {
        orphans().push(Box::new(orphan));
        ARE_THERE.store(true, Ordering::Release);
    }

    /// Drops the values that ended threads have left.
    pub(crate) fn drop_orphans() {
        if ARE_THERE.load(Ordering::Acquire) && !is_ending() {
            ARE_THERE.store(false, Ordering::Release);
            let left = std::mem::take(&mut *orphans());
            // Not under the lock, because a drop may leave other values.
            drop(left);
        }
    }

    fn orphans() -> MutexGuard<'static, Vec<Orphan>> {
        ORPHANS.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(target_arch = "wasm32")]
mod threads {
    use crate::error::WgpuError;

    pub(crate) fn check_thread(_: impl FnOnce()) -> Result<(), WgpuError> {
        Ok(())
    }

    pub(crate) fn check_not_ending() -> Result<(), WgpuError> {
        Ok(())
    }

    pub(crate) fn is_ending() -> bool {
        false
    }

    pub(crate) fn leave<T>(_: T) {}

    pub(crate) fn drop_orphans() {}
}

pub(crate) use threads::{check_not_ending, check_thread, drop_orphans, is_ending, leave};
