//! Defines the slot layout, in which each array has its own block.

use super::cursor::SlotCursor;
use super::root::SlotRoot;
use super::slot::SlotPointer;
use super::state::State;
use crate::backend::{Layout, NamedArray, PoolBackend, PoolState, SealedLayout};
use crate::config::PoolConfig;
use crate::error::ConfigError;
use crate::stats::PoolStats;

/// The layout in which the i-th array of a pass uses the i-th block. The i-th block has the same
/// address in every pass.
#[derive(Clone, Copy, Debug)]
pub struct Slots;

impl SealedLayout for Slots {}

impl<B: PoolBackend> Layout<B> for Slots {
    const HAS_SLOTS: bool = true;
    type Root = SlotRoot<B>;
    type State = State<B>;
    type Cursor = SlotCursor<B>;
}

impl<B: PoolBackend> PoolState<B> for State<B> {
    type Cursor = SlotCursor<B>;

    fn context(&self) -> &B::Context {
        self.context()
    }

    fn config(&self) -> PoolConfig {
        self.config()
    }

    fn stats(&self, active: usize) -> PoolStats {
        self.stats(active)
    }

    fn shared_numbers(&self, none: PoolStats) -> PoolStats {
        self.shared_numbers(none)
    }

    fn forget_peaks(&self) {
        self.forget_peaks();
    }

    unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError> {
        // SAFETY: the caller upholds the safety contract of `configure`.
        unsafe { self.configure(config) }
    }

    fn id(&self) -> u64 {
        self.id()
    }

    #[inline]
    fn next_serial(&self) -> u64 {
        self.next_serial()
    }

    #[inline]
    unsafe fn named(&self, number: usize) -> NamedArray<SlotPointer<'_, B>> {
        // SAFETY: the caller upholds the safety contract of `slot`.
        let memory = unsafe { self.slot(number) };
        let record = memory.record().as_ptr();
        // SAFETY: the slot's record is live, and no reference to it exists.
        let serial = unsafe { (*record).serial };
        // SAFETY: the slot's record is live, and no reference to it exists.
        NamedArray { memory, serial, length: unsafe { (*record).length } }
    }

    #[inline]
    unsafe fn cursor(&self, number: usize) -> SlotCursor<B> {
        // SAFETY: the caller upholds the safety contract of `slot_or_end`.
        let slot = unsafe { self.slot_or_end(number) };
        // SAFETY: the caller upholds the safety contract of `SlotCursor::new`.
        unsafe { SlotCursor::new(slot) }
    }
}
