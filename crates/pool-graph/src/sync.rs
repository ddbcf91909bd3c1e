//! The lock, the condition and the counted pointer of this crate: those of `parking_lot` and the standard
//! library, or loom's under `cfg(loom)`, which then tries every order of the threads of a test.
//!
//! No code of a user and no call of a driver runs under the lock.

#[cfg(loom)]
pub(crate) use modelled::{Arc, Condvar, Mutex};
#[cfg(not(loom))]
pub(crate) use real::{Arc, Condvar, Mutex};

#[cfg(not(loom))]
mod real {
    pub(crate) use std::sync::Arc;

    use parking_lot::MutexGuard;

    /// How often a held lock is looked at before the thread gives way: what is done under it takes tens
    /// of nanoseconds, so it is nearly always free again, and giving way costs a thousand times as much.
    const LOOKS: u32 = 100;

    /// A lock that is held for moments.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(parking_lot::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.try_lock().unwrap_or_else(|| self.lock_contended())
        }

        #[cold]
        fn lock_contended(&self) -> MutexGuard<'_, T> {
            for _ in 0..LOOKS {
                std::hint::spin_loop();
                if self.0.is_locked() {
                    continue;
                }
                if let Some(guard) = self.0.try_lock() {
                    return guard;
                }
            }
            self.0.lock()
        }
    }

    /// Where threads wait for something that another one does under the lock.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(parking_lot::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        /// Gives the lock up until someone notifies.
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
    use std::sync::PoisonError;

    /// A lock that a panic leaves as it was, like that of `parking_lot`.
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

    /// Where threads wait for something that another one does under the lock.
    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        /// Gives the lock up until someone notifies.
        pub(crate) fn wait<'l, T>(&self, guard: MutexGuard<'l, T>) -> MutexGuard<'l, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
