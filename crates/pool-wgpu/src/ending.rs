//! Handles threads that are about to end.
//!
//! In debug builds, wgpu tracks its locks in a thread-local variable, and panics if it is called
//! after this variable has been dropped. Destructors of other thread-local variables might call
//! wgpu later, for example, when a thread's pools are dropped. On an ending thread, this crate
//! therefore returns errors instead of calling wgpu. Other threads later drop the ending thread's
//! buffers and streams. In a browser, there are no other threads.

#[cfg(not(target_arch = "wasm32"))]
mod threads {
    use std::any::Any;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use crate::error::WgpuError;

    /// A wgpu value that another thread will drop.
    type Orphan = Box<dyn Any + Send>;

    static ORPHANS: Mutex<Vec<Orphan>> = Mutex::new(Vec::new());
    /// This flag is set if other threads might have left values to drop. The flag ensures that the
    /// mutex is locked only when necessary.
    static ARE_THERE: AtomicBool = AtomicBool::new(false);

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum State {
        /// The thread has not yet called into this crate.
        New,
        /// The thread may call wgpu.
        Running,
        /// The thread's variables are being dropped, and wgpu's variables might already have been
        /// dropped.
        Ending,
    }

    /// A value whose destructor records that its thread is ending.
    struct Sentinel;

    impl Drop for Sentinel {
        fn drop(&mut self) {
            STATE.set(State::Ending);
        }
    }

    thread_local! {
        /// The thread's state. This variable has no destructor, so it can be read at any time.
        static STATE: Cell<State> = const { Cell::new(State::New) };
        /// A value that must be dropped before wgpu's thread-local variables. Destructors run in
        /// reverse order of creation, so this value must be created after wgpu's thread-local
        /// variables.
        static SENTINEL: Sentinel = const { Sentinel };
    }

    /// Checks that this thread may call wgpu. The first check on a thread runs `call_wgpu`, which
    /// creates wgpu's thread-local variables.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::ThreadEnding`] if this thread is ending.
    #[inline]
    pub(crate) fn check_thread(call_wgpu: impl FnOnce()) -> Result<(), WgpuError> {
        match STATE.get() {
            State::Running => Ok(()),
            State::New => watch(call_wgpu),
            State::Ending => Err(WgpuError::ThreadEnding),
        }
    }

    /// Returns an error if an earlier call has found that this thread is ending. This function does
    /// not call wgpu.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::ThreadEnding`] if this thread is known to be ending.
    pub(crate) fn check_not_ending() -> Result<(), WgpuError> {
        if is_ending() { Err(WgpuError::ThreadEnding) } else { Ok(()) }
    }

    #[cold]
    fn watch(call_wgpu: impl FnOnce()) -> Result<(), WgpuError> {
        // This call panics if the thread is ending and wgpu's variables have already been dropped.
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

    /// Stores a value until another thread drops it.
    pub(crate) fn leave(orphan: impl Any + Send) {
        orphans().push(Box::new(orphan));
        ARE_THERE.store(true, Ordering::Release);
    }

    /// Drops all values stored by threads that have ended.
    pub(crate) fn drop_orphans() {
        if ARE_THERE.load(Ordering::Acquire) && !is_ending() {
            ARE_THERE.store(false, Ordering::Release);
            let left = std::mem::take(&mut *orphans());
            // The lock is not held while the values are dropped, because their destructors may
            // store more values.
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
