//! The crate's mutex, condition variable, and reference-counted pointer. Normal builds use the
//! types from `parking_lot` and the standard library. Builds with `cfg(loom)` use loom, which
//! explores the possible interleavings of threads.
//!
//! A thread that holds a pool's or arena's lock runs no user code, makes no driver calls, and
//! allocates no memory.

#[cfg(loom)]
pub(crate) use modelled::{
    Arc, CALLS, Condvar, Mutex, MutexGuard, get_ready_to_wait, is_ready_to_wait,
};
#[cfg(not(loom))]
pub(crate) use real::{
    Arc, CALLS, Condvar, Mutex, MutexGuard, get_ready_to_wait, is_ready_to_wait,
};

/// Marks this thread as calling a source, or as preparing to call one. While a thread is calling a
/// source, it never waits for other threads' calls to finish. If an allocator hook re-entered the
/// pool and waited, it could wait for its own thread and deadlock.
#[derive(Debug)]
pub(crate) struct SourceCall(());

impl SourceCall {
    pub(crate) fn begin() -> Self {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        Self(())
    }

    /// Returns `true` if this thread is currently calling a source.
    pub(crate) fn is_under_way() -> bool {
        CALLS.with(|calls| calls.get() > 0)
    }
}

impl Drop for SourceCall {
    fn drop(&mut self) {
        CALLS.with(|calls| calls.set(calls.get() - 1));
    }
}

#[cfg(not(loom))]
mod real {
    use std::cell::Cell;
    pub(crate) use std::sync::Arc;
    use std::time::Duration;

    pub(crate) use parking_lot::{Mutex, MutexGuard};

    thread_local! {
        static HAS_WAITED: Cell<bool> = const { Cell::new(false) };
        /// The number of nested calls to sources on this thread.
        pub(crate) static CALLS: Cell<u32> = const { Cell::new(0) };
    }

    /// Returns `true` if this thread can block without allocating memory.
    pub(crate) fn is_ready_to_wait() -> bool {
        HAS_WAITED.get()
    }

    /// Waits briefly so that `parking_lot` allocates its record for this thread. `parking_lot`
    /// allocates this record when a thread first waits, so the thread must not hold a lock at that
    /// time.
    #[cold]
    pub(crate) fn get_ready_to_wait() {
        let nothing = Mutex::new(());
        parking_lot::Condvar::new().wait_for(&mut nothing.lock(), Duration::ZERO);
        HAS_WAITED.set(true);
    }

    /// A condition variable that works with this module's `Mutex`.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(parking_lot::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        /// Releases the lock, waits for a notification, and acquires the lock again.
        pub(crate) fn wait<'l, T>(&self, mut guard: MutexGuard<'l, T>) -> MutexGuard<'l, T> {
            self.0.wait(&mut guard);
            guard
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

#[cfg(loom)]
mod modelled {
    pub(crate) use loom::sync::{Arc, MutexGuard};
    use std::cell::Cell;
    use std::sync::PoisonError;

    loom::thread_local! {
        /// The number of nested calls to sources on this thread.
        pub(crate) static CALLS: Cell<u32> = Cell::new(0);
    }

    pub(crate) fn is_ready_to_wait() -> bool {
        true
    }

    pub(crate) fn get_ready_to_wait() {}

    /// A mutex that, like the one in `parking_lot`, is not poisoned by a panic.
    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// A condition variable that works with this module's `Mutex`.
    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        /// Releases the lock, waits for a notification, and acquires the lock again.
        pub(crate) fn wait<'l, T>(&self, guard: MutexGuard<'l, T>) -> MutexGuard<'l, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
