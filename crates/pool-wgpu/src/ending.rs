//! Threads that are ending.
//!
//! In debug builds, wgpu tracks its locks in a thread-local variable. wgpu panics if it is called
//! after that variable has been dropped. This happens in destructors of other thread-local
//! variables, such as those of a thread's pools. There, calls are refused, and buffers and streams
//! are left for another thread to drop. In a browser, there are no other threads.

#[cfg(not(target_arch = "wasm32"))]
mod threads {
    use std::any::Any;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use crate::error::WgpuError;

    /// A wgpu value that only remains to be dropped.
    type Orphan = Box<dyn Any + Send>;

    static ORPHANS: Mutex<Vec<Orphan>> = Mutex::new(Vec::new());
    /// Set while orphans may exist, so that the mutex is locked only then.
    static ARE_THERE: AtomicBool = AtomicBool::new(false);

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum State {
        /// The thread has not called this crate yet.
        New,
        /// wgpu can be called.
        Running,
        /// The thread's variables are being dropped, and wgpu's may already be gone.
        Ending,
    }

    /// Records that its thread is ending.
    struct Sentinel;

    impl Drop for Sentinel {
        fn drop(&mut self) {
            STATE.set(State::Ending);
        }
    }

    thread_local! {
        /// This variable has no destructor, so it can be read at any time.
        static STATE: Cell<State> = const { Cell::new(State::New) };
        /// Created on a thread after wgpu's own variables: destructors run in reverse order.
        static SENTINEL: Sentinel = const { Sentinel };
    }

    /// Checks that wgpu may be called on this thread. On the thread's first check, `call_wgpu`
    /// creates wgpu's thread-local variables.
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

    /// Returns an error if this thread is known to be ending. Does not call wgpu.
    ///
    /// # Errors
    ///
    /// [`WgpuError::ThreadEnding`].
    pub(crate) fn check_not_ending() -> Result<(), WgpuError> {
        if is_ending() { Err(WgpuError::ThreadEnding) } else { Ok(()) }
    }

    #[cold]
    fn watch(call_wgpu: impl FnOnce()) -> Result<(), WgpuError> {
        // The call panics if the thread is ending and an earlier call by the user created wgpu's
        // variables.
        let called = catch_unwind(AssertUnwindSafe(call_wgpu));
        if called.is_err() || SENTINEL.try_with(|_| ()).is_err() {
            return Err(WgpuError::ThreadEnding);
        }
        STATE.set(State::Running);
        Ok(())
    }

    /// Returns `true` if this thread's variables are being dropped.
    #[inline]
    pub(crate) fn is_ending() -> bool {
        STATE.get() == State::Ending
    }

    /// Leaves a value for another thread to drop.
    pub(crate) fn leave(orphan: impl Any + Send) {
        orphans().push(Box::new(orphan));
        ARE_THERE.store(true, Ordering::Release);
    }

    /// Drops the values that ended threads have left behind.
    pub(crate) fn drop_orphans() {
        if ARE_THERE.load(Ordering::Acquire) && !is_ending() {
            ARE_THERE.store(false, Ordering::Release);
            let left = std::mem::take(&mut *orphans());
            // The lock is not held during the drop, because a drop may leave other values.
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
