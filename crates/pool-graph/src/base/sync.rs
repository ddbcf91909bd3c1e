//! The lock, the condition variable and the reference-counted pointer of this crate. They come from
//! `parking_lot` and the standard library. Under `cfg(loom)` they come from loom, which tries every
//! order of a test's threads.
//!
//! No user code, driver call or allocation runs while the lock is held.

#[cfg(loom)]
pub(crate) use modelled::{
    Arc, CALLS, Condvar, Mutex, MutexGuard, get_ready_to_wait, is_ready_to_wait,
};
#[cfg(not(loom))]
pub(crate) use real::{
    Arc, CALLS, Condvar, Mutex, MutexGuard, get_ready_to_wait, is_ready_to_wait,
};

/// Marks a call to a source, including the preparation of the call, until this value is dropped. A
/// thread inside such a call does not wait for other calls. Otherwise an allocator hook that enters
/// the pool again could wait for its own thread, or for a thread that waits for it.
#[derive(Debug)]
pub(crate) struct SourceCall(());

impl SourceCall {
    pub(crate) fn begin() -> Self {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        Self(())
    }

    /// Returns `true` if this thread is inside a call to a source.
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
        /// The number of source calls that this thread is inside.
        pub(crate) static CALLS: Cell<u32> = const { Cell::new(0) };
    }

    /// Returns `true` if a wait on this thread allocates nothing.
    pub(crate) fn is_ready_to_wait() -> bool {
        HAS_WAITED.get()
    }

    /// Waits briefly. `parking_lot` allocates its data for a waiting thread at the thread's first
    /// wait. This call makes that allocation happen while no lock is held.
    #[cold]
    pub(crate) fn get_ready_to_wait() {
        let nothing = Mutex::new(());
        parking_lot::Condvar::new().wait_for(&mut nothing.lock(), Duration::ZERO);
        HAS_WAITED.set(true);
    }

    /// A condition variable for the lock.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(parking_lot::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        /// Releases the lock and waits for a notification.
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
        /// The number of source calls that this thread is inside.
        pub(crate) static CALLS: Cell<u32> = Cell::new(0);
    }

    pub(crate) fn is_ready_to_wait() -> bool {
        true
    }

    pub(crate) fn get_ready_to_wait() {}

    /// A lock that a panic does not poison, like the lock of `parking_lot`.
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

    /// A condition variable for the lock.
    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        /// Releases the lock and waits for a notification.
        pub(crate) fn wait<'l, T>(&self, guard: MutexGuard<'l, T>) -> MutexGuard<'l, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
