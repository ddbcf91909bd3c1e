//! The lock, the condition variable and the counted pointer of this crate: those of `parking_lot`
//! and the standard library. Under `cfg(loom)` they are loom's, which tries every order of a test's
//! threads.
//!
//! No user code, no call of the driver and no allocator runs under the lock.

#[cfg(loom)]
pub(crate) use modelled::{
    Arc, CALLS, Condvar, Mutex, MutexGuard, get_ready_to_wait, is_ready_to_wait,
};
#[cfg(not(loom))]
pub(crate) use real::{
    Arc, CALLS, Condvar, Mutex, MutexGuard, get_ready_to_wait, is_ready_to_wait,
};

/// Marks a call of a source, and its preparation, until this is dropped. A thread in such a call
/// waits for no other call. Otherwise a hook of an allocator that re-enters would wait for its own
/// thread, or for one that waits for it.
#[derive(Debug)]
pub(crate) struct SourceCall(());

impl SourceCall {
    pub(crate) fn begin() -> Self {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        Self(())
    }

    /// Returns `true` if this thread is in a call of a source.
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
        /// The number of this thread's calls of sources.
        pub(crate) static CALLS: Cell<u32> = const { Cell::new(0) };
    }

    /// Returns `true` if a wait allocates nothing on this thread.
    pub(crate) fn is_ready_to_wait() -> bool {
        HAS_WAITED.get()
    }

    /// Waits for a moment. `parking_lot` allocates its data about a waiting thread at the first
    /// wait, which would otherwise be under the lock.
    #[cold]
    pub(crate) fn get_ready_to_wait() {
        let nothing = Mutex::new(());
        parking_lot::Condvar::new().wait_for(&mut nothing.lock(), Duration::ZERO);
        HAS_WAITED.set(true);
    }

    /// A condition variable of the lock.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(parking_lot::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        /// Releases the lock until a notification.
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
        /// The number of this thread's calls of sources.
        pub(crate) static CALLS: Cell<u32> = Cell::new(0);
    }

    pub(crate) fn is_ready_to_wait() -> bool {
        true
    }

    pub(crate) fn get_ready_to_wait() {}

    /// A lock that a panic does not poison, like that of `parking_lot`.
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

    /// A condition variable of the lock.
    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        /// Releases the lock until a notification.
        pub(crate) fn wait<'l, T>(&self, guard: MutexGuard<'l, T>) -> MutexGuard<'l, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
