//! Counters of a pool. The thread that has the pool writes them, and any thread may read them for
//! statistics. Their loads and stores are relaxed, and compile to those of plain words.

use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64 as LongWord;

/// Without 64-bit atomics, a long count wraps at the word size.
#[cfg(not(target_has_atomic = "64"))]
use core::sync::atomic::AtomicUsize as LongWord;

/// A number of bytes or slots.
#[derive(Debug)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    /// The number at the beginning.
    pub(crate) const fn new(value: usize) -> Self {
        Self(AtomicUsize::new(value))
    }

    /// The number now.
    #[inline(always)]
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the number.
    #[inline(always)]
    pub(crate) fn set(&self, value: usize) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A number of events.
#[derive(Debug)]
pub(crate) struct LongCount(LongWord);

impl LongCount {
    /// No event yet.
    pub(crate) const fn new() -> Self {
        Self(LongWord::new(0))
    }

    /// The number now.
    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        let count = self.0.load(Ordering::Relaxed);
        #[cfg(not(target_has_atomic = "64"))]
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        count
    }

    /// Counts one more event. Only the thread that has the pool calls it: the two steps are no
    /// atomic addition.
    #[inline(always)]
    pub(crate) fn increment(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}
