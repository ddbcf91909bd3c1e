//! Defines the state that a pool owns in addition to its slots. The state contains the backend's
//! context, the configuration, the list of tables, and the counters. Only code on the cold path
//! accesses the state.

use core::cell::Cell;
use core::fmt;
#[cfg(debug_assertions)]
use core::panic::Location;

use super::live::LiveBytes;
#[cfg(debug_assertions)]
use super::slot_report::SlotReport;
use super::table_list::TableList;
use super::words::Slot;
use crate::backend::PoolBackend;
use crate::busy::{BusyGuard, BusyMark};
use crate::config::PoolConfig;
use crate::count::{Count, LongCount};
use crate::stats::PoolStats;

/// The state of one pool.
pub struct State<B: PoolBackend> {
    context: B::Context,
    config: Cell<PoolConfig>,
    /// `true` if the configuration makes every acquire call the cold function. Recomputing the
    /// value on every cold acquire would cost about eleven instructions.
    arms_every_use: Cell<bool>,
    id: u64,
    last_serial: Cell<u64>,
    /// A flag that is set while one of this pool's operations might run user code (invariant 9).
    busy: BusyMark,
    /// The address of each table's first slot. This address is also the address of the table
    /// itself.
    pub(super) tables: TableList<Slot<B>>,
    reserved: Count,
    peak_reserved: Count,
    leaked: Count,
    high_water: Count,
    pub(super) live: LiveBytes,
    growths: LongCount,
    cold_acquires: LongCount,
    #[cfg(debug_assertions)]
    slot_report: SlotReport,
    pub(super) shape_hits: LongCount,
    pub(super) shape_misses: LongCount,
}

impl<B: PoolBackend> State<B> {
    /// Creates the state of a new pool that has no table yet. `id` is the pool's identity.
    pub(super) fn new(id: u64, context: B::Context, config: PoolConfig) -> Self {
        Self {
            context,
            config: Cell::new(config),
            arms_every_use: Cell::new(config.arms_every_use()),
            id,
            last_serial: Cell::new(0),
            busy: BusyMark::new(),
            tables: TableList::new(),
            reserved: Count::new(0),
            peak_reserved: Count::new(0),
            leaked: Count::new(0),
            high_water: Count::new(0),
            live: LiveBytes::new(),
            growths: LongCount::new(),
            cold_acquires: LongCount::new(),
            #[cfg(debug_assertions)]
            slot_report: SlotReport::new(),
            shape_hits: LongCount::new(),
            shape_misses: LongCount::new(),
        }
    }

    /// Marks the pool as busy until the returned guard is dropped. Returns `None` if the pool is
    /// already marked as busy.
    pub(super) fn busy(&self) -> Option<BusyGuard<'_>> {
        self.busy.set()
    }

    pub(crate) fn context(&self) -> &B::Context {
        &self.context
    }

    pub(crate) fn config(&self) -> PoolConfig {
        self.config.get()
    }

    /// Returns `true` if the configuration enables a mode in which every acquire calls the cold
    /// function.
    pub(super) fn arms_every_use(&self) -> bool {
        self.arms_every_use.get()
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns a serial number that none of this pool's handles has used.
    pub(crate) fn next_serial(&self) -> u64 {
        let serial = self.last_serial.get() + 1;
        self.last_serial.set(serial);
        serial
    }

    /// Replaces the configuration with a validated one.
    pub(super) fn set_config(&self, config: PoolConfig) {
        self.config.set(config);
        self.arms_every_use.set(config.arms_every_use());
    }

    /// Returns the total size of the pool's blocks in bytes.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved.get()
    }

    /// Returns the number of bytes that the pool may still allocate without exceeding its limit.
    pub(super) fn room(&self) -> usize {
        self.config.get().byte_limit.saturating_sub(self.reserved.get())
    }

    /// Counts a newly allocated block and its bytes.
    pub(super) fn note_growth(&self, bytes: usize) {
        self.note_reserved(bytes);
        self.growths.increment();
    }

    /// Adds a block's bytes to the pool's total size.
    pub(super) fn note_reserved(&self, bytes: usize) {
        let reserved = self.reserved.get() + bytes;
        self.reserved.set(reserved);
        self.peak_reserved.set(self.peak_reserved.get().max(reserved));
    }

    pub(super) fn note_released(&self, bytes: usize) {
        self.reserved.set(self.reserved.get() - bytes);
    }

    pub(super) fn note_leaked(&self, bytes: usize) {
        self.leaked.set(self.leaked.get() + bytes);
    }

    pub(super) fn note_cold_acquire(&self) {
        self.cold_acquires.increment();
    }

    /// Records that slot `number` is about to be handed out. The method emits a warning if an
    /// unusually large number of slots is handed out.
    pub(super) fn note_use(&self, number: usize) {
        let slots = number + 1;
        if slots <= self.high_water.get() {
            return;
        }
        self.high_water.set(slots);
        #[cfg(debug_assertions)]
        self.slot_report.note(self.config.get(), slots, self.reserved.get());
        if slots >= PoolConfig::WARNING_SLOTS && slots.is_power_of_two() {
            self.warn_many_slots(slots);
        }
    }

    /// Records the location of the call that is about to acquire slot `number`.
    #[cfg(debug_assertions)]
    pub(super) fn note_caller(&self, number: usize, caller: &'static Location<'static>) {
        self.slot_report.note_caller(number, caller);
    }

    #[cfg(feature = "tracing")]
    fn warn_many_slots(&self, slots: usize) {
        tracing::warn!(
            pool = self.config.get().name,
            slots,
            reserved_bytes = self.reserved.get(),
            "the pool has handed out {slots} slots at once: is a scope missing around a loop body?"
        );
    }

    #[cfg(not(feature = "tracing"))]
    #[expect(clippy::unused_self, reason = "the twin with feature `tracing` reads it")]
    fn warn_many_slots(&self, _slots: usize) {}

    /// Resets the highest slot count and all peak values, as the `clear` method requires.
    pub(crate) fn forget_peaks(&self) {
        self.high_water.set(0);
        self.live.forget_peak();
        self.peak_reserved.set(self.reserved.get());
    }

    /// Returns the statistics that any thread may read while the pool is live. The statistics do
    /// not include the configuration, the device, or the number of live bytes.
    pub(crate) fn shared_numbers(&self, mut stats: PoolStats) -> PoolStats {
        stats.high_water_slots = self.high_water.get();
        stats.reserved_bytes = self.reserved.get();
        stats.peak_reserved_bytes = self.peak_reserved.get();
        stats.leaked_bytes = self.leaked.get();
        stats.bookkeeping_bytes = size_of::<Self>() + self.table_bytes();
        stats.growths = self.growths.get();
        stats.cold_acquires = self.cold_acquires.get();
        stats.shape_hits = self.shape_hits.get();
        stats.shape_misses = self.shape_misses.get();
        stats.pools = 1;
        stats
    }

    /// Returns this pool's statistics, given that its tables occupy `table_bytes` bytes.
    pub(super) fn numbers(&self, active: usize, table_bytes: usize) -> PoolStats {
        let config = self.config.get();
        PoolStats {
            name: config.name,
            device: B::device(&self.context),
            active_slots: active,
            high_water_slots: self.high_water.get(),
            reserved_bytes: self.reserved.get(),
            peak_reserved_bytes: self.peak_reserved.get(),
            peak_live_bytes: self.live.peak(),
            leaked_bytes: self.leaked.get(),
            bookkeeping_bytes: size_of::<Self>() + table_bytes + self.live.bookkeeping_bytes(),
            byte_limit: config.byte_limit,
            growths: self.growths.get(),
            cold_acquires: self.cold_acquires.get(),
            shape_hits: self.shape_hits.get(),
            shape_misses: self.shape_misses.get(),
            pools: 1,
        }
    }
}

impl<B: PoolBackend> fmt::Debug for State<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("id", &self.id).finish_non_exhaustive()
    }
}
