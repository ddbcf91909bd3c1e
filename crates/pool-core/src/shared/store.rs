//! Defines the state that all of a shared pool's handles and arrays share. The state consists of
//! the shards and the counters. This module also contains the code that moves blocks between the
//! shards.
//!
//! # The way of a block
//!
//! A thread acquires blocks from its magazine and returns them to that magazine. If the magazine is
//! full, a returned block goes to a common shard. All threads can acquire blocks from the common
//! shards. If one thread acquires a block and another returns it, both steps require a lock but no
//! barrier. The pool searches other threads' magazines only if it would otherwise hold too much
//! memory or if it cannot grow. If the `std` feature is disabled or no barrier on all threads is
//! available, all blocks go through the common shards.
//!
//! # How long it lives
//!
//! One counter holds the number of handles. The number of arrays is not stored in one counter,
//! because all threads would then have to share it. Returning an array decrements the counter of
//! the shard that receives the array's block. When the last handle is dropped, [`close`] locks all
//! shards, counts the live arrays, and stores the count. Returning an array after this point
//! decrements the stored number, and returning the last array frees the store.
//!
//! # What it holds
//!
//! A pool's bound is 37/32 of its peak live bytes plus some slack ([`Store::bound`]). If a new
//! block would exceed the bound, the pool stores the array in a larger idle block
//! ([`Store::find_larger`]). If no larger idle block exists, the pool frees idle blocks before it
//! allocates the new block. The pool therefore grows beyond the bound only if no block is idle.
//!
//! A thread checks the bound and counts its new block in one atomic step ([`Store::reserve`]), so
//! threads that allocate at the same time do not exceed the bound together.

use alloc::boxed::Box;
use core::array;
use core::mem;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::memory::{OwnedMemory, SharedBackend};
use super::record::{Record, RecordPlace};
use super::shard::{Classes, Locked, Shard};
use super::size_class::{CLASSES_PER_DOUBLING, UNIT, class_bytes, class_of, class_within};
#[cfg(feature = "std")]
use super::thread_cell::{self, own_cell};
use crate::config::PoolConfig;
use crate::error::PoolError;
use crate::identity::next_identity;
use crate::stats::{PoolStats, ReleaseReport};
use crate::try_box::{into_box, try_box};

/// The record of a block that belongs to a store.
pub(super) type BlockRecord<B> = Box<Record<<B as SharedBackend>::Memory>>;

/// The slack of a pool without magazines in bytes. The slack allows a small pool to hold a block
/// for each length that it uses.
const POOL_SLACK: usize = 256 << 10;

/// The number of bytes by which each magazine that has an owner increases the slack. They allow
/// each thread to retain idle blocks for its small arrays.
const THREAD_SLACK: usize = 64 << 10;

/// The number of sums from which the pool takes the lowest as its live bytes.
const SUMS: usize = 3;

/// The maximum number of threads that can have a magazine in a pool.
#[cfg(feature = "std")]
const MAGAZINES: usize = 32;

/// The maximum number of idle blocks in a magazine.
#[cfg(feature = "std")]
const MAGAZINE_BLOCKS: usize = 16;

/// The identity of a pool without magazines. No pool with magazines has this identity.
#[cfg(feature = "std")]
const NO_MAGAZINES: u64 = 0;

/// The number of common shards in a pool.
const COMMONS: usize = if usize::BITS >= 64 { 16 } else { 4 };

/// The factor of a multiplicative hash. The factor is odd and is approximately the largest word
/// divided by the golden ratio.
const GOLDEN: usize = (usize::MAX / 1000 * 618) | 1;

/// The number of low-order bits of a stack address that a thread ignores when it chooses its first
/// common shard. The standard library gives each thread a stack of 2 MiB by default, so different
/// threads usually choose different shards. Correctness does not depend on which shard is chosen.
const STACK_BITS: u32 = 20;

/// Returns the index of the common shard that the calling thread tries first.
#[inline]
fn first_common() -> usize {
    let here = 0_u8;
    let stack = (&raw const here).addr() >> STACK_BITS;
    stack.wrapping_mul(GOLDEN) >> (usize::BITS - COMMONS.ilog2())
}

/// The part of a pool that is shared by all of its handles and arrays.
pub(super) struct Store<B: SharedBackend> {
    #[cfg(feature = "std")]
    magazines: [Shard<B::Memory>; MAGAZINES],
    commons: [Shard<B::Memory>; COMMONS],
    /// The identity of the pool. No other pool in the process ever has the same identity.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only magazines need it"))]
    identity: u64,
    config: PoolConfig,
    origin: B::Origin,
    /// The total size of all blocks in bytes.
    reserved: AtomicUsize,
    peak_reserved: AtomicUsize,
    /// The peak number of live bytes. The live bytes are measured when the pool is about to grow.
    peak_live: AtomicUsize,
    growths: AtomicUsize,
    /// The number of magazines that had an owner when a magazine was last claimed. Each magazine
    /// that has an owner increases the slack.
    owners: AtomicUsize,
    /// The number of acquires for which neither the magazine nor the first common shard contained a
    /// suitable block.
    misses: AtomicUsize,
    /// The number of users that prevent a closed store from being freed. The users are the live
    /// arrays and the thread that closes the store.
    remaining: AtomicUsize,
}

impl<B: SharedBackend> Store<B> {
    /// Creates a store without blocks. The store lives at least until [`close`] is called.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Bookkeeping`] if the host cannot allocate memory for the store, and
    /// [`PoolError::IdentitiesExhausted`] if no identity is left.
    pub(super) fn create(
        context: B::Context,
        config: PoolConfig,
    ) -> Result<NonNull<Self>, PoolError<B::Error>> {
        let identity =
            next_identity().ok_or(PoolError::IdentitiesExhausted { most: usize::MAX - 1 })?;
        // A pool has no magazines if the backend provides no barrier on all threads. If the
        // configuration requests fresh blocks, the pool needs no magazines because it never retains
        // idle blocks.
        #[cfg(feature = "std")]
        let identity =
            if !config.fresh && B::barrier_on_all_threads() { identity } else { NO_MAGAZINES };
        try_box(Self {
            #[cfg(feature = "std")]
            magazines: array::from_fn(|_| Shard::new(MAGAZINE_BLOCKS)),
            commons: array::from_fn(|_| Shard::new(usize::MAX)),
            identity,
            config,
            origin: B::origin(context),
            reserved: AtomicUsize::new(0),
            peak_reserved: AtomicUsize::new(0),
            peak_live: AtomicUsize::new(0),
            growths: AtomicUsize::new(0),
            owners: AtomicUsize::new(0),
            misses: AtomicUsize::new(0),
            remaining: AtomicUsize::new(0),
        })
        .ok_or(PoolError::Bookkeeping { requested: size_of::<Self>() })
    }

    pub(super) fn config(&self) -> &PoolConfig {
        &self.config
    }

    pub(super) fn origin(&self) -> &B::Origin {
        &self.origin
    }

    #[cfg(feature = "std")]
    fn magazines(&self) -> &[Shard<B::Memory>] {
        &self.magazines
    }

    #[cfg(not(feature = "std"))]
    fn magazines(&self) -> &[Shard<B::Memory>] {
        &[]
    }

    /// Locks a magazine, which may belong to any thread. Returns `None` if the barrier was not
    /// executed.
    fn lock_magazine<'a>(
        &'a self,
        magazine: &'a Shard<B::Memory>,
    ) -> Option<Locked<'a, B::Memory>> {
        let magazine = NonNull::from(magazine);
        #[cfg(feature = "std")]
        // SAFETY: the store is live while `self` is borrowed. The calling thread does not use its
        // own magazine while the lock is held. The backend provides the barrier.
        return unsafe { Locked::wait_for_magazine(magazine, B::barrier_on_all_threads) };
        #[cfg(not(feature = "std"))]
        // SAFETY: the store is live while `self` is borrowed.
        return Some(unsafe { Locked::wait(magazine) });
    }

    /// Makes the calling thread the owner of an available magazine, unless the thread has searched
    /// for one before.
    #[cfg(feature = "std")]
    fn claim_magazine(&self) {
        if self.identity == NO_MAGAZINES || thread_cell::is_known(self.identity) {
            return;
        }
        let Some(cell) = own_cell() else { return };
        // SAFETY: the store is live while `self` is borrowed. `cell` is the calling thread's cell.
        let claim = |magazine: &&_| unsafe { Locked::claim(NonNull::from(*magazine), cell) };
        let magazine = self.magazines.iter().find(claim);
        let owners = self.magazines.iter().filter(|magazine| magazine.has_owner()).count();
        self.owners.store(owners, Ordering::Relaxed);
        thread_cell::remember(
            self.identity,
            magazine.map(|magazine| NonNull::from(magazine).cast()),
        );
    }

    /// Locks the first common shard whose lock is free, starting with the thread's first shard.
    fn lock_common(&self) -> Locked<'_, B::Memory> {
        // SAFETY: the store is live while `self` is borrowed.
        unsafe { lock_common(NonNull::from(&self.commons)) }
    }

    /// Acquires a block for an array of `bytes` bytes from the thread's magazine and counts the
    /// array as live.
    #[inline(always)]
    pub(super) fn take_near(&self, bytes: usize) -> Option<BlockRecord<B>> {
        #[cfg(feature = "std")]
        {
            // SAFETY: the store is live while `self` is borrowed.
            let mut magazine = unsafe { own_magazine(NonNull::from(self)) }?;
            let mut record = magazine.pop_newest(class_of(bytes))?;
            record.live = live_bytes(bytes);
            magazine.note_taken(record.live);
            Some(record)
        }
        #[cfg(not(feature = "std"))]
        {
            _ = bytes;
            None
        }
    }

    /// Acquires a block for an array of `bytes` bytes if [`take_near`](Self::take_near) did not
    /// find one, and counts the array as live.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`SharedPool::try_take`](crate::SharedPool::try_take). The error
    /// is `None` if a block of the required class would not fit in the address space.
    #[inline(never)]
    pub(super) fn take(&self, bytes: usize) -> Result<BlockRecord<B>, Option<PoolError<B::Error>>> {
        #[cfg(feature = "std")]
        self.claim_magazine();
        let (class, live) = (class_of(bytes), live_bytes(bytes));
        // SAFETY: the store is live while `self` is borrowed.
        #[cfg(feature = "std")]
        if let Some(mut magazine) = unsafe { own_magazine(NonNull::from(self)) } {
            if let Some(mut record) = magazine.pop(exact(class)) {
                record.live = live;
                magazine.note_taken(live);
                return Ok(record);
            }
        }
        let mut common = self.lock_common();
        common.note_taken(live);
        let popped = common.pop(exact(class));
        drop(common);
        // The guard undoes the count if a backend or an allocator hook panics.
        let taken = Undo::new(|| self.lock_common().note_returned(live));
        let mut record = match popped {
            Some(record) => record,
            None => self.take_elsewhere(class)?,
        };
        taken.keep();
        record.live = live;
        Ok(record)
    }

    /// Acquires a block from another shard or from the backend if the first common shard has no
    /// block of the required class.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`take`](Self::take).
    #[cold]
    #[inline(never)]
    fn take_elsewhere(&self, class: usize) -> Result<BlockRecord<B>, Option<PoolError<B::Error>>> {
        self.misses.fetch_add(1, Ordering::Relaxed);
        if let Some(record) = self.find(exact(class)) {
            return Ok(record);
        }
        let bytes = class_bytes(class)
            .and_then(|bytes| bytes.checked_next_multiple_of(B::ALIGN))
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .ok_or(None)?;
        let peak = self.live_peak(bytes);
        let record = self.find_larger(class, bytes, peak);
        let record = record.map_or_else(|| self.grow(bytes, peak), Ok)?;
        // A refused array does not count toward the peak.
        self.note_live_peak(peak);
        Ok(record)
    }

    /// Searches all magazines for an idle block of the required class and then searches all shards
    /// for a larger block, if a new block would exceed the bound. The larger block is at most
    /// sixteen times as large as a block of the required class. The larger block's surplus plus the
    /// bytes of all live arrays must not exceed the bound. A pool that already exceeds the bound
    /// uses no larger block. Otherwise, arrays in larger blocks could make the pool grow with each
    /// pass.
    ///
    /// A loop can use a few large arrays and then many small ones, as a convolutional network does.
    /// With a smaller factor, each pass would free the large blocks and allocate them again.
    fn find_larger(&self, class: usize, bytes: usize, peak: usize) -> Option<BlockRecord<B>> {
        let (bound, reserved) = (self.bound(peak), self.reserved());
        if bytes == 0 || bound >= reserved.saturating_add(bytes) {
            return None;
        }
        let may_waste = if reserved > bound { 0 } else { bound.saturating_sub(self.live().1) };
        let last = class_within(bytes.saturating_add(may_waste).min(isize::MAX as usize));
        let larger = Classes { first: class, last: last.min(class + 4 * CLASSES_PER_DOUBLING) };
        self.find_in_magazines(exact(class))
            .or_else(|| self.find(larger))
            .or_else(|| self.find_in_magazines(larger))
    }

    /// Searches for an idle block in the common shards whose locks are free.
    fn find(&self, classes: Classes) -> Option<BlockRecord<B>> {
        self.commons.iter().filter(|common| common.may_have(classes)).find_map(|common| {
            // SAFETY: the store is live while `self` is borrowed.
            unsafe { Locked::try_new(NonNull::from(common)) }?.pop(classes)
        })
    }

    /// Searches all threads' magazines for an idle block. The method executes a barrier for each
    /// magazine that might contain a suitable block.
    fn find_in_magazines(&self, classes: Classes) -> Option<BlockRecord<B>> {
        self.magazines()
            .iter()
            .filter(|magazine| magazine.may_have(classes))
            .find_map(|magazine| self.lock_magazine(magazine)?.pop(classes))
    }

    /// Allocates a block of `bytes` bytes. `peak` is the [peak](Self::live_peak) of the live bytes.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`take_elsewhere`](Self::take_elsewhere).
    fn grow(&self, bytes: usize, peak: usize) -> Result<BlockRecord<B>, PoolError<B::Error>> {
        let place = RecordPlace::new().map_err(|requested| PoolError::Bookkeeping { requested })?;
        self.reserve(bytes, peak)?;
        let reserved = Undo::new(|| self.note_freed(bytes));
        let memory = self.allocate(bytes)?;
        reserved.keep();
        self.growths.fetch_add(1, Ordering::Relaxed);
        Ok(place.fill(bytes, memory))
    }

    /// Allocates memory. If the allocation fails, the method frees all idle blocks and retries
    /// once.
    fn allocate(&self, bytes: usize) -> Result<B::Memory, PoolError<B::Error>> {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("pool_growth", pool = self.config.name, bytes).entered();
        let allocate = || B::Memory::allocate(&self.origin, bytes, &self.config);
        match allocate() {
            Err(PoolError::OutOfMemory { .. }) => {}
            allocated => return allocated,
        }
        self.trim();
        allocate().map_err(|error| match error {
            PoolError::OutOfMemory { requested, largest, source, .. } => {
                let reserved = self.reserved().saturating_sub(bytes);
                PoolError::OutOfMemory { requested, reserved, largest, source }
            }
            other => other,
        })
    }

    /// Counts a new block's bytes. The method frees idle blocks until the new total does not exceed
    /// the [bound](Self::bound) and the limit. If no idle blocks are left, the total may exceed the
    /// bound.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::LimitExceeded`] if the new total exceeds the limit even after all idle
    /// blocks have been freed.
    fn reserve(&self, bytes: usize, peak: usize) -> Result<(), PoolError<B::Error>> {
        let limit = self.config.byte_limit;
        let most = self.bound(peak).min(limit);
        let has_room = || self.reserved().checked_add(bytes).is_some_and(|sum| sum <= most);
        // Another thread can use the room that this thread has made, so the thread tries again for
        // as long as blocks are idle.
        while bytes > 0 && !self.try_reserve(bytes, most) {
            if self.free_idle(has_room).slots > 0 || has_room() {
                continue;
            }
            if self.try_reserve(bytes, limit) {
                break;
            }
            let reserved = self.reserved();
            return Err(PoolError::LimitExceeded { requested: bytes, reserved, limit });
        }
        Ok(())
    }

    /// Counts a new block's bytes and returns `true` if the new total is at most `most`.
    fn try_reserve(&self, bytes: usize, most: usize) -> bool {
        let within = |reserved: usize| reserved.checked_add(bytes).filter(|&sum| sum <= most);
        let before = self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        if let Ok(before) = before {
            self.peak_reserved.fetch_max(before + bytes, Ordering::Relaxed);
        }
        before.is_ok()
    }

    /// Subtracts the size of a freed block from the total.
    pub(super) fn note_freed(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Returns the size beyond which the pool does not grow while a block is idle, for a given peak
    /// of the live bytes. The result does not depend on the byte limit.
    fn bound(&self, peak: usize) -> usize {
        let slack = POOL_SLACK + THREAD_SLACK * self.owners.load(Ordering::Relaxed);
        peak.saturating_add(peak / 32 * 5).saturating_add(slack)
    }

    /// Returns the number of live arrays and their total size in bytes.
    fn live(&self) -> (usize, usize) {
        let sum = |sum: (usize, usize), shard: &Shard<B::Memory>| {
            let (arrays, bytes) = shard.balance();
            (sum.0.wrapping_add(arrays), sum.1.wrapping_add(bytes))
        };
        self.magazines().iter().chain(&self.commons).fold((0, 0), sum)
    }

    /// Returns the peak number of live bytes, including the current number. If the calling thread
    /// has already counted an array whose block is not yet reserved, `new` is the block's size.
    ///
    /// While other threads acquire and return arrays, a sum over all shards can miss some of their
    /// changes. The sum can then be too large by any amount, or even negative. The method therefore
    /// uses the lowest of several sums, and at most the size of all blocks.
    fn live_peak(&self, new: usize) -> usize {
        let peak = self.peak_live.load(Ordering::Relaxed);
        let mut live = self.reserved().saturating_add(new);
        for _ in 0..SUMS {
            let (_, sum) = self.live();
            live = live.min(sum);
            if live <= peak || sum > isize::MAX as usize {
                return peak;
            }
        }
        live
    }

    fn note_live_peak(&self, peak: usize) {
        self.peak_live.fetch_max(peak, Ordering::Relaxed);
    }

    /// Prepares to [adopt](Self::adopt) a block of `bytes` bytes. The method counts the block's
    /// array as live and frees idle blocks as [`reserve`](Self::reserve) does.
    ///
    /// # Errors
    ///
    /// Returns the same error as [`reserve`](Self::reserve).
    pub(super) fn reserve_adopted(&self, bytes: usize) -> Result<(), PoolError<B::Error>> {
        let live = live_bytes(bytes);
        self.lock_common().note_taken(live);
        let taken = Undo::new(|| self.lock_common().note_returned(live));
        let peak = self.live_peak(bytes);
        self.reserve(bytes, peak)?;
        taken.keep();
        self.note_live_peak(peak);
        Ok(())
    }

    /// Creates a record for a block that was allocated outside the store. The block must have been
    /// [reserved](Self::reserve_adopted).
    pub(super) fn adopt(place: RecordPlace<B::Memory>, memory: B::Memory) -> BlockRecord<B> {
        let bytes = memory.bytes();
        let mut record = place.fill(bytes, memory);
        record.live = live_bytes(bytes);
        record
    }

    /// Removes an idle block from the store to replace a block of `bytes` bytes. The idle block has
    /// the same class as the block that it replaces and is no larger.
    pub(super) fn take_like(&self, bytes: usize) -> Option<B::Memory> {
        let class = class_within(bytes);
        let classes = Classes { first: class, last: class };
        #[cfg(feature = "std")]
        // SAFETY: the store is live while `self` is borrowed.
        let own = unsafe { own_magazine(NonNull::from(self)) }.and_then(|mut own| own.pop(classes));
        #[cfg(not(feature = "std"))]
        let own = None;
        let record = own.or_else(|| self.find(classes))?;
        if record.bytes > bytes {
            self.lock_common().push(record);
            return None;
        }
        self.note_freed(record.bytes);
        Some(record.memory)
    }

    /// Frees memory that [`take_like`](Self::take_like) returned.
    pub(super) fn free_memory(&self, memory: B::Memory) {
        memory.free(&self.origin);
    }

    /// Frees idle blocks one at a time until `is_enough` returns `true`.
    fn free_idle(&self, is_enough: impl Fn() -> bool) -> ReleaseReport {
        let mut report = ReleaseReport::default();
        self.empty_magazines(&is_enough);
        for common in &self.commons {
            while !is_enough() {
                // SAFETY: the store is live while `self` is borrowed.
                let record = unsafe { Locked::wait(NonNull::from(common)) }.pop_any();
                let Some(record) = record else { break };
                report.note(record.bytes);
                self.free(record);
            }
        }
        report
    }

    /// Moves the blocks of all magazines to common shards until `is_enough` returns `true`. Freeing
    /// a block in a common shard requires no barrier.
    fn empty_magazines(&self, is_enough: impl Fn() -> bool) {
        for magazine in self.magazines().iter().filter(|magazine| magazine.may_have_any()) {
            if is_enough() {
                return;
            }
            let mut blocks = None;
            if let Some(mut magazine) = self.lock_magazine(magazine) {
                while let Some(mut record) = magazine.pop_any() {
                    record.next = blocks;
                    blocks = Some(record);
                }
            }
            while let Some(mut record) = blocks {
                blocks = record.next.take();
                self.lock_common().push(record);
            }
        }
    }

    /// Closes all shards, and counts the live arrays and the caller as users of the closed store.
    /// Returns `false` if a magazine cannot be locked because the barrier was not executed. If the
    /// method returns `false`, the store is never freed.
    fn close_shards(&self) -> bool {
        // SAFETY: the store is live while `self` is borrowed.
        let lock = |common| unsafe { Locked::wait(NonNull::from(common)) };
        let mut commons = self.commons.each_ref().map(lock);
        #[cfg(feature = "std")]
        let magazines = self.magazines.each_ref().map(|magazine| self.lock_magazine(magazine));
        #[cfg(feature = "std")]
        if magazines.iter().any(Option::is_none) {
            return false;
        }
        // The sum is exact because every array is counted in a shard and all shards are locked.
        let (arrays, _) = self.live();
        self.remaining.store(arrays.wrapping_add(1), Ordering::Relaxed);
        commons.iter_mut().for_each(Locked::close);
        #[cfg(feature = "std")]
        magazines.into_iter().flatten().for_each(|mut magazine| magazine.close());
        true
    }

    /// Frees a block that is not in any list, together with the block's record.
    #[expect(clippy::boxed_local, reason = "a record is moved as a box everywhere")]
    fn free(&self, record: BlockRecord<B>) {
        let bytes = record.bytes;
        let Record { memory, .. } = *record;
        memory.free(&self.origin);
        self.note_freed(bytes);
    }

    /// Frees all idle blocks.
    pub(super) fn trim(&self) -> ReleaseReport {
        let report = self.free_idle(|| false);
        B::Memory::settle(&self.origin);
        report
    }

    /// Returns the pool's statistics.
    pub(super) fn stats(&self) -> PoolStats {
        self.note_live_peak(self.live_peak(0));
        let (arrays, _) = self.live();
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let mut stats = PoolStats::none(self.config.name, B::Memory::device(&self.origin));
        stats.pools = 1;
        stats.active_slots = arrays;
        stats.reserved_bytes = self.reserved();
        stats.peak_reserved_bytes = count(&self.peak_reserved);
        stats.peak_live_bytes = Some(count(&self.peak_live));
        stats.bookkeeping_bytes = size_of::<Self>();
        stats.byte_limit = self.config.byte_limit;
        stats.growths = count(&self.growths) as u64;
        stats.cold_acquires = count(&self.misses) as u64;
        stats
    }
}

/// A guard that undoes a step if it is dropped because of an error or a panic. Calling the guard's
/// `keep` method makes the step permanent.
struct Undo<F: FnMut()>(F);

impl<F: FnMut()> Undo<F> {
    fn new(undo: F) -> Self {
        Self(undo)
    }

    fn keep(self) {
        mem::forget(self);
    }
}

impl<F: FnMut()> Drop for Undo<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Returns the number of bytes that the pool counts for an array. The result is the array's size
/// rounded up to a whole number of units.
#[inline(always)]
const fn live_bytes(bytes: usize) -> usize {
    bytes.div_ceil(UNIT).saturating_mul(UNIT)
}

/// Returns the range of size classes in which to search for an array's block. The range also
/// includes the next class if its blocks exceed the array's size by at most a quarter.
#[inline(always)]
const fn exact(class: usize) -> Classes {
    Classes { first: class, last: if class < CLASSES_PER_DOUBLING { class } else { class + 1 } }
}

/// Locks the first common shard whose lock is free, starting with the thread's first shard.
///
/// # Safety
///
/// The shards must remain live until the lock is released.
#[inline]
unsafe fn lock_common<'a, M>(commons: NonNull<[Shard<M>; COMMONS]>) -> Locked<'a, M> {
    let mut number = first_common();
    loop {
        // SAFETY: `number` is the number of a shard in the array.
        let common = unsafe { commons.cast::<Shard<M>>().add(number) };
        // SAFETY: the caller upholds the safety contract of `Locked::try_new`.
        if let Some(locked) = unsafe { Locked::try_new(common) } {
            return locked;
        }
        number = (number + 1) % COMMONS;
    }
}

/// Returns the calling thread's magazine in a store and marks the magazine as in use. Returns
/// `None` if the thread has no magazine in the store.
///
/// # Safety
///
/// The store must remain live until the magazine is released, and the thread must not be using
/// another magazine.
#[cfg(feature = "std")]
#[inline(always)]
unsafe fn own_magazine<'a, B: SharedBackend>(
    store: NonNull<Store<B>>,
) -> Option<Locked<'a, B::Memory>> {
    // SAFETY: the caller guarantees that the store is live. A store's identity never changes.
    let (magazine, cell) = thread_cell::home(unsafe { (*store.as_ptr()).identity })?;
    // SAFETY: the magazine belongs to this store because no other store has the same identity. The
    // cell is the calling thread's cell.
    unsafe { Locked::try_own(magazine.cast(), cell) }
}

/// Returns an array's block to its store. Any thread may call this function. The function frees the
/// store if the store is closed and this array is its last one.
///
/// # Safety
///
/// The record must have been acquired from this store or adopted by it, and its array must no
/// longer be in use. The caller must not use the store after the call, unless the caller owns a
/// handle to the store.
#[inline]
pub(super) unsafe fn give_back<B: SharedBackend>(store: NonNull<Store<B>>, record: BlockRecord<B>) {
    // A store lives for as long as it has arrays, and this array counts as one of them until the
    // function updates the shard's counter. The function receives no reference to the store,
    // because a reference would have to remain valid until the function returns (invariant 3 of
    // `shard`).
    #[cfg(feature = "std")]
    // SAFETY: the store lives for as long as this array is counted. Updating the magazine's counter
    // removes the array from the count. No thread can close the store while the magazine is in use.
    // This thread uses no other magazine.
    if let Some(mut magazine) = unsafe { own_magazine(store) } {
        if !magazine.is_full() {
            magazine.note_returned(record.live);
            magazine.push(record);
            return;
        }
    }
    // SAFETY: the caller upholds the safety contract of `give_back_to_common`.
    unsafe { give_back_to_common(store, record) };
}

/// Implements [`give_back`] for a block that no magazine can hold.
///
/// # Safety
///
/// The requirements are the same as for [`give_back`].
#[inline(never)]
unsafe fn give_back_to_common<B: SharedBackend>(store: NonNull<Store<B>>, record: BlockRecord<B>) {
    // SAFETY: a store lives for as long as it has arrays, and this array counts as one of them
    // until the counter is decremented below.
    let is_fresh = unsafe { (*store.as_ptr()).config.fresh };
    let live = record.live;
    let mut record = Some(record);
    if is_fresh {
        // SAFETY: a store lives for as long as it has arrays, and this array counts as one of them
        // until the counter is decremented below.
        record.take().into_iter().for_each(|record| unsafe { store.as_ref() }.free(record));
    }
    // SAFETY: a store lives for as long as it has arrays, and this array counts as one of them
    // until the counter is decremented below.
    let commons = unsafe { &raw mut (*store.as_ptr()).commons };
    // SAFETY: the address of a field is never null.
    let commons = unsafe { NonNull::new_unchecked(commons) };
    // SAFETY: the shards live until the lock is released.
    let mut common = unsafe { lock_common(commons) };
    common.note_returned(live);
    if !common.is_full() {
        record.into_iter().for_each(|record| common.push(record));
        return;
    }
    drop(common);
    // SAFETY: a closed store lives until `remaining` is 0, and this array is still included in
    // `remaining`.
    record.into_iter().for_each(|record| unsafe { store.as_ref() }.free(record));
    // SAFETY: a closed store lives until `remaining` is 0, and `remaining` includes this array
    // until this call decrements `remaining`.
    unsafe { leave(store) };
}

/// Closes a store when its last handle is dropped. The store lives until its last array has been
/// returned.
///
/// # Safety
///
/// The store must not already be closed. After the call, only the store's arrays may use the store.
pub(super) unsafe fn close<B: SharedBackend>(store: NonNull<Store<B>>) {
    // SAFETY: a store lives at least until it is closed.
    if !unsafe { store.as_ref() }.close_shards() {
        return;
    }
    // SAFETY: the store is live because this thread is still included in `remaining`.
    unsafe { store.as_ref() }.free_idle(|| false);
    // SAFETY: the store is live because this thread is included in `remaining` until this call
    // decrements `remaining`.
    unsafe { leave(store) };
}

/// Removes one user from a closed store. If no user is left, the function frees the store.
///
/// # Safety
///
/// The caller must be one of the counted users and must not use the store after the call.
unsafe fn leave<B: SharedBackend>(store: NonNull<Store<B>>) {
    // SAFETY: the store lives until its last user has been removed.
    let remaining = unsafe { &(*store.as_ptr()).remaining };
    if remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
        // SAFETY: `try_box` created the store. The store has no users left.
        drop(unsafe { into_box(store) });
    }
}
