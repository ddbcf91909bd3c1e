//! Defines the state that a stacked pool owns. The state contains the chunks, the context, the
//! counters, and the addresses that acquires compare with the cursor.

use alloc::vec::Vec;
use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::ptr::{NonNull, null_mut, without_provenance_mut};

use super::chunks::{Chunk, Chunks};
use super::dirty::DirtyRanges;
#[cfg(debug_assertions)]
use super::growth_report::GrowthReport;
use crate::backend::{FirstUse, PoolBackend};
use crate::busy::BusyMark;
use crate::config::PoolConfig;
use crate::count::{Count, LongCount};
use crate::shape_set::ShapeSet;
use crate::stacked::StackedBackend;
use crate::stats::PoolStats;

/// The addresses that an acquire compares with the end of its array.
pub(super) struct Ends {
    /// The end of the memory that the hot path may hand out to code that reads before it writes
    /// (invariants 3 and 6).
    pub(super) end: Cell<*mut u8>,
    /// The end of the memory that the hot path may hand out to code that writes before it reads.
    pub(super) written_end: Cell<*mut u8>,
}

impl Ends {
    const fn null() -> Self {
        Self { end: Cell::new(null_mut()), written_end: Cell::new(null_mut()) }
    }

    /// Returns the end for an array that is first used in this way.
    #[inline(always)]
    pub(super) fn of(&self, first_use: FirstUse) -> *mut u8 {
        match first_use {
            FirstUse::Read => self.end.get(),
            FirstUse::Write => self.written_end.get(),
        }
    }

    #[inline(always)]
    pub(super) fn set(&self, end: *mut u8, written_end: *mut u8) {
        self.end.set(end);
        self.written_end.set(written_end);
    }
}

/// The state of one stacked pool.
pub struct StackState<B: StackedBackend> {
    /// The ends that the hot path compares first. They are null if [`may_lend`](Self::may_lend) is
    /// set. An acquire below these ends stores nothing (invariant 10).
    pub(super) ends: Ends,
    /// The ends that the hot path compares next. They are null unless `may_lend` is set. An acquire
    /// below these ends stores the new position of the cursor in `top`.
    pub(super) lender_ends: Ends,
    /// The position at which the next pass begins. The value is the start of the first chunk, or
    /// [`STRAY`] if the next pass begins with a merge.
    pub(super) base: Cell<*mut u8>,
    /// The start of the only chunk if the pool is settled, or null otherwise (invariant 3). The
    /// offsets of shape sets are relative to `origin`.
    pub(super) origin: Cell<*mut u8>,
    /// The cursor's position after the last array that was reserved, or the position at which the
    /// pass began. In a settled pool that may lend memory, `top` is at or above every cursor in
    /// use. The pool lends only memory at or above `top` (see the `loans` module). If the pool
    /// lends no memory, `top` may be out of date.
    pub(super) top: Cell<*mut u8>,
    /// `true` if the pool has been in use at the same time as another pool of its thread, so that
    /// the pool may lend memory.
    may_lend: Cell<bool>,
    /// Links to other pools that the same thread is using. The linked pools lend memory to this
    /// pool, borrow memory from it, or are adjacent to it in the chain.
    pub(super) neighbours: Neighbours<B>,
    /// `true` if [`may_borrow_simply`](Self::may_borrow_simply) returned `true` before the pool's
    /// last loan, and would still return `true` if that loan were undone. Every operation that
    /// might change this result clears the flag.
    pub(super) is_lean: Cell<bool>,
    /// Hints for finding shape sets. The low bits of an offset, measured in lines, select a hint.
    /// Each hint stores the index at which the shape set of an offset with these low bits was last
    /// found.
    pub(super) shape_hints: [Cell<u16>; SHAPE_HINTS],
    pub(super) shape_hits: LongCount,
    pub(super) shape_misses: LongCount,
    pub(super) context: B::Context,
    config: Cell<PoolConfig>,
    id: u64,
    last_serial: Cell<u64>,
    busy: BusyMark,
    /// The chunks of the pool. The field is accessed only through `with_chunks`.
    chunks: UnsafeCell<Chunks>,
    pub(super) dirty: DirtyRanges,
    /// The bytes that a view has armed. The pool calls the backend's `reuse_bytes` before it hands
    /// out these bytes again (invariant 12).
    pub(super) armed: DirtyRanges,
    /// The arrays to which handles refer, in the order in which they were handed out. The field is
    /// accessed only through `with_names`.
    names: UnsafeCell<Vec<Name>>,
    /// The shape sets, sorted by offset. The field is accessed only through `with_shapes`.
    shapes: UnsafeCell<Vec<OffsetShapes<B>>>,
    /// The peak number of live bytes since the pool was last settled, as recorded by the cold
    /// function.
    pub(super) pass_peak: Cell<usize>,
    /// The peak number of live bytes in the passes that the cold function last counted.
    pub(super) needed: Cell<usize>,
    /// The number of live bytes if the most recently grown vector's whole capacity is counted, and
    /// the cursor position after that vector. A vector might not use its full capacity, so the
    /// whole capacity is counted only when another value becomes live or the next pass begins.
    capacity_peak: Cell<(usize, *mut u8)>,
    /// The peak number of live bytes, which is updated only while live bytes are counted.
    pub(super) live_peak: Cell<Option<usize>>,
    /// The number of passes still to be sampled.
    pub(super) samples_left: Cell<u16>,
    pub(super) largest_sample: Cell<usize>,
    reserved: Count,
    peak_reserved: Count,
    growths: LongCount,
    pub(super) cold_acquires: LongCount,
    /// The largest alignment among the element types that the pool has stored, or one line if that
    /// is larger. Chunks start at multiples of this alignment so that the arrays of identical
    /// passes have the same padding in every chunk.
    pub(super) most_aligned: Cell<usize>,
    #[cfg(debug_assertions)]
    pub(super) growth_report: GrowthReport,
    /// The next pool in a free list.
    pub(super) next_idle: Cell<*mut ()>,
}

/// The address of a cursor that is outside all chunks. Only the top bit of the address is set. This
/// address is above every end, is aligned to a line, and is never the address of any memory.
pub(super) const STRAY: usize = 1 << (usize::BITS - 1);

/// The number of shape set hints, which must be a power of two.
pub(super) const SHAPE_HINTS: usize = 32;

/// An array to which a handle refers.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) start: NonNull<u8>,
    pub(super) next: *mut u8,
    pub(super) serial: u64,
    pub(super) length: usize,
}

/// The shape set for arrays at a given offset.
pub(super) struct OffsetShapes<B: PoolBackend> {
    /// The number of live bytes before the array.
    pub(super) offset: usize,
    pub(super) set: NonNull<ShapeSet<B::Descriptor>>,
}

/// Links from a pool to the other pools that its thread is using. All linked pools are live while
/// they are in use (see the `nesting` module).
pub(super) struct Neighbours<B: StackedBackend> {
    /// The pool that was innermost when this pool came into use.
    pub(super) outer: Link<B>,
    /// The pool whose `outer` field refers to this pool.
    pub(super) inner: Link<B>,
    /// The pool from which this pool borrows its first chunk.
    pub(super) lender: Link<B>,
    /// The pool that has borrowed the upper part of this pool's first chunk as its own first chunk.
    pub(super) borrower: Link<B>,
    /// The first chunk's original end, before part of the chunk was lent.
    pub(super) unlent_end: Cell<*mut u8>,
}

/// An optional link to another pool's state.
pub(super) type Link<B> = Cell<Option<NonNull<StackState<B>>>>;

impl<B: StackedBackend> Neighbours<B> {
    const fn new() -> Self {
        Self {
            outer: Cell::new(None),
            inner: Cell::new(None),
            lender: Cell::new(None),
            borrower: Cell::new(None),
            unlent_end: Cell::new(null_mut()),
        }
    }
}

/// A guard that marks a pool as busy and sets `end` and `written_end` to null. Dropping the guard
/// removes the mark.
#[must_use = "dropping the guard removes the mark"]
pub(super) struct BusyStack<'a, B: StackedBackend>(&'a StackState<B>);

impl<B: StackedBackend> Drop for BusyStack<'_, B> {
    fn drop(&mut self) {
        self.0.busy.clear();
        self.0.set_ends();
    }
}

impl<B: StackedBackend> StackState<B> {
    pub(super) fn new(id: u64, context: B::Context, config: PoolConfig) -> Self {
        Self {
            ends: Ends::null(),
            lender_ends: Ends::null(),
            base: Cell::new(without_provenance_mut(STRAY)),
            origin: Cell::new(null_mut()),
            top: Cell::new(without_provenance_mut(STRAY)),
            may_lend: Cell::new(false),
            neighbours: Neighbours::new(),
            is_lean: Cell::new(false),
            shape_hints: [const { Cell::new(0) }; SHAPE_HINTS],
            shape_hits: LongCount::new(),
            shape_misses: LongCount::new(),
            context,
            config: Cell::new(config),
            id,
            last_serial: Cell::new(0),
            busy: BusyMark::new(),
            chunks: UnsafeCell::new(Chunks::new()),
            dirty: DirtyRanges::new(),
            armed: DirtyRanges::new(),
            names: UnsafeCell::new(Vec::new()),
            shapes: UnsafeCell::new(Vec::new()),
            pass_peak: Cell::new(0),
            needed: Cell::new(0),
            capacity_peak: Cell::new((0, null_mut())),
            live_peak: Cell::new(None),
            samples_left: Cell::new(0),
            largest_sample: Cell::new(0),
            reserved: Count::new(0),
            peak_reserved: Count::new(0),
            growths: LongCount::new(),
            cold_acquires: LongCount::new(),
            most_aligned: Cell::new(B::ALIGN),
            #[cfg(debug_assertions)]
            growth_report: GrowthReport::new(),
            next_idle: Cell::new(null_mut()),
        }
    }

    /// Marks the pool as busy. Returns `None` if the pool is already marked as busy.
    pub(super) fn busy(&self) -> Option<BusyStack<'_, B>> {
        if !self.busy.try_mark() {
            return None;
        }
        // In a busy pool, `end` and `written_end` are null, and `set_ends` keeps them null.
        self.is_lean.set(false);
        self.clear_ends();
        Some(BusyStack(self))
    }

    /// Sets `end` and `written_end`, which limit the memory that acquires may use without calling
    /// the cold function (invariants 3, 6, and 8).
    pub(super) fn set_ends(&self) {
        // Every operation that changes the chunks, counters, ranges, or modes calls this method, so
        // the method also clears `is_lean`.
        self.is_lean.set(false);
        let config = self.config.get();
        let counted = config.arms_every_use() || self.samples_left.get() > 0;
        if !self.is_settled() || counted || self.busy.is_set() {
            self.clear_ends();
            return;
        }
        let Some(chunk) = self.with_chunks(|chunks| chunks.get(0).copied()) else { return };
        // Both `end` and `written_end` are rounded down to whole lines. Neither end is below the
        // chunk's start, and every cursor is at or above that start.
        let addresses = chunk.start.addr()..chunk.end.addr();
        let below_first = |ranges: &DirtyRanges| {
            let reached = ranges.first_in(&addresses).map_or(addresses.end, |range| range.start);
            (reached - chunk.start.addr()) & !(B::ALIGN - 1)
        };
        let ordered = below_first(&self.armed);
        let written_end = chunk.start.wrapping_add(ordered);
        let end = chunk.start.wrapping_add(ordered.min(below_first(&self.dirty)));
        if self.may_lend.get() {
            self.lender_ends.set(end, written_end);
        } else {
            self.ends.set(end, written_end);
        }
    }

    /// Makes every acquire call the cold function.
    pub(super) fn clear_ends(&self) {
        self.ends.set(null_mut(), null_mut());
        self.lender_ends.set(null_mut(), null_mut());
    }

    /// Returns `true` if the pool may lend memory to other pools.
    pub(super) fn may_lend(&self) -> bool {
        self.may_lend.get()
    }

    /// Makes the pool record `top` from now on, so that the pool may lend memory. If the pool is
    /// settled, its current `top` is unknown: the pool lends nothing before its innermost cursor
    /// has reserved memory again, or before a first cursor sets `top`.
    pub(super) fn start_lending(&self) {
        if self.may_lend.replace(true) {
            return;
        }
        if self.is_settled() {
            self.top.set(without_provenance_mut(STRAY));
        }
        self.clear_ends();
        self.set_ends();
    }

    /// Marks the pool as unsettled. The `end` and `written_end` fields stay null until the first
    /// acquire of a new pass.
    pub(super) fn unsettle(&self) {
        self.origin.set(null_mut());
        self.base.set(without_provenance_mut(STRAY));
        self.set_ends();
    }

    /// Returns `true` if the pool is settled, that is, if all of its cursors are in its only chunk
    /// or at [`STRAY`].
    pub(super) fn is_settled(&self) -> bool {
        !self.origin.get().is_null()
    }

    /// Settles the pool in its only chunk, which starts at `start`. Nothing in the chunk may be
    /// live. The method also counts a new pass.
    pub(super) fn settle_at(&self, start: *mut u8) {
        if self.pass_peak.get() > 0 {
            self.needed.set(self.pass_peak.replace(0));
        }
        self.base.set(start);
        self.settle_sampled_at(start);
    }

    /// Settles the pool as [`settle_at`](Self::settle_at) does, except that the next pass still
    /// begins with a merge and live bytes continue to be counted.
    pub(super) fn settle_sampled_at(&self, start: *mut u8) {
        self.origin.set(start);
        self.set_ends();
    }

    /// Schedules a merge of the chunks at the beginning of the next pass. The `end` and
    /// `written_end` fields do not change, because the next pass begins with a cursor at [`STRAY`],
    /// which is above both of them (invariant 3).
    pub(super) fn merge_next(&self) {
        self.is_lean.set(false);
        self.base.set(without_provenance_mut(STRAY));
    }

    /// Calls `f` with the list of chunks.
    pub(super) fn with_chunks<R>(&self, f: impl FnOnce(&mut Chunks) -> R) -> R {
        // SAFETY: only one thread uses the state. All callers of this method are in the `stack`
        // module. The closures that callers pass as `f` access no other state and run no user code,
        // so this is the only reference to the list.
        f(unsafe { &mut *self.chunks.get() })
    }

    /// Calls `f` with the first chunk if the pool has one.
    pub(super) fn with_first(&self, f: impl FnOnce(&mut Chunk)) {
        self.with_chunks(|chunks| {
            if let Some(first) = chunks.get_mut(0) {
                f(first);
            }
        });
    }

    /// Returns `true` if one of the pool's operations is in progress.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.is_set()
    }

    /// Calls `f` with the list of names.
    pub(super) fn with_names<R>(&self, f: impl FnOnce(&mut Vec<Name>) -> R) -> R {
        // SAFETY: only one thread uses the state. The closures passed as `f` access no other state
        // and run no user code, so this is the only reference to the list.
        f(unsafe { &mut *self.names.get() })
    }

    /// Calls `f` with the list of shape sets.
    pub(super) fn with_shapes<R>(&self, f: impl FnOnce(&mut Vec<OffsetShapes<B>>) -> R) -> R {
        // SAFETY: only one thread uses the state. The closures passed as `f` access no other state
        // and run no user code, so this is the only reference to the list.
        f(unsafe { &mut *self.shapes.get() })
    }

    /// Returns the maximum number of padding bytes at the start of a chunk.
    pub(super) fn padding(&self) -> usize {
        self.most_aligned.get() - B::ALIGN
    }

    /// Rounds the number of live bytes up to a multiple of `most_aligned`. A new chunk is assumed
    /// to start at the rounded offset. Arrays in the new chunk have the same padding as arrays at
    /// that offset, so the merged chunk requires no more bytes than were counted.
    pub(super) fn live_before_chunk(&self, live: usize) -> usize {
        live.next_multiple_of(self.most_aligned.get())
    }

    /// Records that a chunk was allocated.
    pub(super) fn note_allocated(&self, chunk: &Chunk) {
        self.add_reserved(chunk.block_bytes);
        self.growths.increment();
    }

    /// Records the start of a pass for the warning that debug builds emit.
    #[inline(always)]
    pub(super) fn note_pass(&self) {
        #[cfg(debug_assertions)]
        self.growth_report.note_pass();
    }

    /// Records, for the debug-build warning, that a guard has started using the pool.
    #[inline(always)]
    pub(super) fn note_entry(&self) {
        #[cfg(debug_assertions)]
        self.growth_report.note_entry();
    }

    /// Increases the number of bytes that the pool owns.
    pub(super) fn add_reserved(&self, bytes: usize) {
        let reserved = self.reserved.get() + bytes;
        self.reserved.set(reserved);
        self.peak_reserved.set(self.peak_reserved.get().max(reserved));
    }

    /// Reduces the number of bytes that the pool owns.
    pub(super) fn remove_reserved(&self, bytes: usize) {
        self.reserved.set(self.reserved.get() - bytes);
    }

    /// Removes all dirty and armed ranges outside the first chunk's block if the pool has only one
    /// chunk. A range outside that block can exist because a range of a freed chunk might have been
    /// merged with another range. The ranges of a borrowed chunk are retained because they are
    /// returned together with the chunk's memory.
    pub(super) fn forget_ranges_outside(&self) {
        let first = self.with_chunks(|chunks| chunks.get(0).copied());
        if let Some(chunk) = first.filter(|chunk| !chunk.is_borrowed()) {
            self.dirty.keep_within(&chunk.block_addresses());
            self.armed.keep_within(&chunk.block_addresses());
        }
    }

    /// Records that `bytes` bytes are live.
    pub(super) fn note_live(&self, bytes: usize) {
        self.take_capacity_peak();
        self.pass_peak.set(self.pass_peak.get().max(bytes));
        self.count_live(bytes);
    }

    /// Records that `bytes` bytes are live if a vector's whole capacity is counted, and that the
    /// cursor after the vector is at `next`.
    pub(super) fn note_capacity(&self, bytes: usize, next: *mut u8) {
        // If a vector grows again, it has used all of its previous capacity.
        self.take_capacity_peak();
        self.capacity_peak.set((bytes, next));
        self.count_live(bytes);
    }

    /// Resets the peak numbers of live bytes that earlier passes recorded.
    pub(super) fn forget_needs(&self) {
        self.pass_peak.set(0);
        self.needed.set(0);
        self.capacity_peak.set((0, null_mut()));
    }

    /// Returns `true` if the cold function has recorded no live bytes in this pass.
    #[inline(always)]
    pub(super) fn has_counted_nothing(&self) -> bool {
        self.pass_peak.get() == 0 && self.capacity_peak.get().0 == 0
    }

    /// Counts the most recently grown vector's whole capacity as live.
    pub(super) fn take_capacity_peak(&self) {
        let (bytes, _) = self.capacity_peak.replace((0, null_mut()));
        self.pass_peak.set(self.pass_peak.get().max(bytes));
    }

    /// Records that a vector's end has moved down from `old` to `new`.
    pub(super) fn forget_capacity(&self, old: *mut u8, new: *mut u8) {
        let (bytes, next) = self.capacity_peak.get();
        if next == old && bytes > 0 {
            self.capacity_peak.set((bytes - (old.addr() - new.addr()), new));
        }
    }

    /// Counts live bytes for the pool's samples and statistics.
    fn count_live(&self, bytes: usize) {
        self.largest_sample.set(self.largest_sample.get().max(bytes));
        if self.config.get().measure_live_bytes {
            self.live_peak.set(Some(self.live_peak.get().map_or(bytes, |peak| peak.max(bytes))));
        }
    }

    /// Marks the `bytes` bytes that start at `start` as dirty. The rest of the last line is also
    /// marked so that the ranges of adjacent arrays merge.
    #[inline]
    pub(super) fn mark(&self, start: *mut u8, bytes: usize) {
        // The rounded end is within the chunk because a chunk's end is aligned to a line.
        let range = start.addr()..(start.addr() + bytes).next_multiple_of(B::ALIGN);
        if bytes == 0 || self.dirty.contains(&range) {
            return;
        }
        self.dirty.add(range);
        self.set_ends();
    }

    /// Arms bytes of a view that is in use.
    pub(super) fn arm(&self, start: *mut u8, bytes: usize) {
        let range = start.addr()..start.addr() + bytes;
        if range.is_empty() || self.armed.contains(&range) {
            return;
        }
        self.armed.add(range);
        self.set_ends();
    }

    pub(super) fn config(&self) -> PoolConfig {
        self.config.get()
    }

    pub(super) fn set_config(&self, config: PoolConfig) {
        self.config.set(config);
        self.set_ends();
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn next_serial(&self) -> u64 {
        let serial = self.last_serial.get() + 1;
        self.last_serial.set(serial);
        serial
    }

    /// Returns the total number of bytes in the pool's own chunks.
    pub(super) fn reserved(&self) -> usize {
        self.reserved.get()
    }

    /// Returns the number of bytes that the pool may still allocate without exceeding its limit.
    /// Borrowed bytes count as though the pool had allocated them itself.
    pub(super) fn room(&self) -> usize {
        let limit = self.config.get().byte_limit;
        limit.saturating_sub(self.reserved.get()).saturating_sub(self.borrowed())
    }

    /// Returns the size of the borrowed chunk in bytes, or 0 if the first chunk is not borrowed.
    pub(super) fn borrowed(&self) -> usize {
        self.with_chunks(|chunks| {
            chunks.get(0).filter(|chunk| chunk.is_borrowed()).map_or(0, Chunk::capacity)
        })
    }

    /// Returns `true` if the pool holds no memory and its borrowing is not restricted by a mode, a
    /// limit, or an alignment.
    #[inline(always)]
    pub(super) fn may_borrow_simply(&self) -> bool {
        let config = self.config.get();
        let is_idle =
            self.reserved.get() == 0 && self.pass_peak.get() == 0 && self.dirty.is_empty();
        is_idle
            && !config.arms_every_use()
            && config.byte_limit == usize::MAX
            && self.samples_left.get() == 0
            && self.most_aligned.get() == B::ALIGN
            && self.with_chunks(|chunks| chunks.len() == 0 && chunks.has_room())
    }

    /// Returns `true` if the first chunk is borrowed or is partly lent to another pool.
    pub(super) fn shares_memory(&self) -> bool {
        self.neighbours.lender.get().is_some() || self.neighbours.borrower.get().is_some()
    }

    /// Resets all peaks.
    pub(super) fn forget_peaks(&self) {
        self.live_peak.set(None);
        self.peak_reserved.set(self.reserved.get());
    }

    /// Returns the number of arrays to which handles refer.
    pub(super) fn named_count(&self) -> usize {
        self.with_names(|names| names.len())
    }

    /// Returns the statistics that any thread may read while the pool is live. The statistics do
    /// not include the sizes of the chunk, name, and shape lists.
    pub(super) fn shared_numbers(&self, mut stats: PoolStats) -> PoolStats {
        stats.pools = 1;
        stats.reserved_bytes = self.reserved.get();
        stats.peak_reserved_bytes = self.peak_reserved.get();
        stats.bookkeeping_bytes = size_of::<Self>();
        stats.growths = self.growths.get();
        stats.cold_acquires = self.cold_acquires.get();
        stats.shape_hits = self.shape_hits.get();
        stats.shape_misses = self.shape_misses.get();
        stats
    }

    /// Returns the pool's statistics.
    pub(super) fn stats(&self, active: usize) -> PoolStats {
        let config = self.config.get();
        let lists = self.with_chunks(|chunks| chunks.bookkeeping_bytes())
            + self.with_names(|names| names.capacity() * size_of::<Name>())
            + self.with_shapes(|shapes| shapes.capacity() * size_of::<OffsetShapes<B>>());
        PoolStats {
            name: config.name,
            device: B::device(&self.context),
            pools: 1,
            active_slots: active,
            high_water_slots: 0,
            reserved_bytes: self.reserved.get(),
            peak_reserved_bytes: self.peak_reserved.get(),
            peak_live_bytes: self.live_peak.get(),
            leaked_bytes: 0,
            bookkeeping_bytes: size_of::<Self>() + lists,
            byte_limit: config.byte_limit,
            growths: self.growths.get(),
            cold_acquires: self.cold_acquires.get(),
            shape_hits: self.shape_hits.get(),
            shape_misses: self.shape_misses.get(),
        }
    }
}

impl<B: StackedBackend> fmt::Debug for StackState<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackState").field("id", &self.id).finish_non_exhaustive()
    }
}
