//! Defines the pool that a guard owns. If other threads can release the pool, it is stored as a
//! list entry. If no other thread can release the pool, it is stored directly. The value needs no
//! tag and occupies only one word, because the backend determines at compile time how the pool is
//! stored.

use std::fmt;
use std::mem::ManuallyDrop;

use pool_core::thread_list::HeldPool;
use pool_core::{
    Compaction, Pool, PoolBackend, PoolConfig, PoolError, PoolStats, ReleaseReport, Scope,
};

use super::LocalPool;

/// The pool that a guard owns. Dropping this value leaks the pool.
#[must_use = "dropping it leaks the pool"]
pub(super) union Held<B: PoolBackend> {
    /// The field that is initialized if the backend's [`ACCESS`](LocalPool::ACCESS) is shared.
    listed: ManuallyDrop<HeldPool<B>>,
    /// The field that is initialized if the backend's [`ACCESS`](LocalPool::ACCESS) is not shared.
    alone: ManuallyDrop<Pool<B>>,
}

impl<B: LocalPool> Held<B> {
    /// # Safety
    ///
    /// `B::ACCESS` must be shared.
    #[inline(always)]
    pub(super) unsafe fn listed(held: HeldPool<B>) -> Self {
        Self { listed: ManuallyDrop::new(held) }
    }

    /// # Safety
    ///
    /// `B::ACCESS` must not be shared.
    #[inline(always)]
    pub(super) unsafe fn alone(pool: Pool<B>) -> Self {
        Self { alone: ManuallyDrop::new(pool) }
    }

    /// Converts this value into the list entry that it stores.
    ///
    /// # Safety
    ///
    /// `B::ACCESS` must be shared.
    #[inline(always)]
    pub(super) unsafe fn into_listed(self) -> HeldPool<B> {
        // SAFETY: the caller guarantees that `B::ACCESS` is shared, so the `listed` field is
        // initialized.
        ManuallyDrop::into_inner(unsafe { self.listed })
    }

    /// Converts this value into the pool that it stores.
    ///
    /// # Safety
    ///
    /// `B::ACCESS` must not be shared.
    #[inline(always)]
    pub(super) unsafe fn into_alone(self) -> Pool<B> {
        // SAFETY: the caller guarantees that `B::ACCESS` is not shared, so the `alone` field is
        // initialized.
        ManuallyDrop::into_inner(unsafe { self.alone })
    }

    #[inline(always)]
    pub(super) fn scope(&mut self) -> Scope<'_, B> {
        if B::ACCESS.is_shared() {
            // SAFETY: `B::ACCESS` is shared, so the `listed` field is initialized.
            return unsafe { &mut self.listed }.scope();
        }
        // SAFETY: `B::ACCESS` is not shared, so the `alone` field is initialized.
        unsafe { &mut self.alone }.scope()
    }

    pub(super) fn stats(&self) -> PoolStats {
        if B::ACCESS.is_shared() {
            // SAFETY: `B::ACCESS` is shared, so the `listed` field is initialized.
            return unsafe { &self.listed }.stats();
        }
        // SAFETY: `B::ACCESS` is not shared, so the `alone` field is initialized.
        unsafe { &self.alone }.stats()
    }

    pub(super) fn trim(&mut self) -> ReleaseReport {
        if B::ACCESS.is_shared() {
            // SAFETY: `B::ACCESS` is shared, so the `listed` field is initialized.
            return unsafe { &mut self.listed }.trim();
        }
        // SAFETY: `B::ACCESS` is not shared, so the `alone` field is initialized.
        unsafe { &mut self.alone }.trim()
    }

    pub(super) fn compact(&mut self, compaction: &Compaction) -> ReleaseReport {
        if B::ACCESS.is_shared() {
            // SAFETY: `B::ACCESS` is shared, so the `listed` field is initialized.
            return unsafe { &mut self.listed }.compact(compaction);
        }
        // SAFETY: `B::ACCESS` is not shared, so the `alone` field is initialized.
        unsafe { &mut self.alone }.compact(compaction)
    }

    pub(super) fn clear(&mut self) -> ReleaseReport {
        if B::ACCESS.is_shared() {
            // SAFETY: `B::ACCESS` is shared, so the `listed` field is initialized.
            return unsafe { &mut self.listed }.clear();
        }
        // SAFETY: `B::ACCESS` is not shared, so the `alone` field is initialized.
        unsafe { &mut self.alone }.clear()
    }

    pub(super) fn configure(&mut self, config: PoolConfig) -> Result<(), PoolError<B::Error>> {
        if B::ACCESS.is_shared() {
            // A `trim_all` call on another thread might have found this pool in the list and might
            // still be replacing it. Once the `trim_all` call has ended, no thread can replace the
            // pool until the guard returns it to the list.
            B::ACCESS.wait_for_release();
            // SAFETY: `B::ACCESS` is shared, so the `listed` field is initialized.
            return unsafe { &mut self.listed }.configure(config);
        }
        // SAFETY: `B::ACCESS` is not shared, so the `alone` field is initialized.
        unsafe { &mut self.alone }.configure(config)
    }
}

impl<B: LocalPool> fmt::Debug for Held<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
