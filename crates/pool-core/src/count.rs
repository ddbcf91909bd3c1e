//! Defines a pool's counters. Only the thread that uses the pool writes the pool's counters, but
//! any thread may read them to collect statistics. The loads and stores use relaxed ordering, so
//! they compile to ordinary loads and stores.

use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64 as LongWord;

/// On targets without 64-bit atomics, a `LongCount` has the size of a machine word and can wrap
/// around.
#[cfg(not(target_has_atomic = "64"))]
use core::sync::atomic::AtomicUsize as LongWord;

/// A counter of bytes or slots.
#[derive(Debug)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) const fn new(value: usize) -> Self {
        Self(AtomicUsize::new(value))
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: usize) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A counter of events.
#[derive(Debug)]
pub(crate) struct LongCount(LongWord);

impl LongCount {
    pub(crate) const fn new() -> Self {
        Self(LongWord::new(0))
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        let count = self.0.load(Ordering::Relaxed);
        #[cfg(not(target_has_atomic = "64"))]
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        count
    }

    /// Adds one to the counter. Only the thread that uses the pool may call this method, because it
    /// loads and stores the value in two separate steps.
    #[inline(always)]
    pub(crate) fn increment(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}
