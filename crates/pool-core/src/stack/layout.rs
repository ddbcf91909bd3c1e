//! Defines the stack layout and implements the interface that all pools share.

use super::cursor::StackCursor;
use super::memory::{Span, StackMemory};
use super::root::StackRoot;
use super::shapes;
use super::state::StackState;
use crate::backend::{Layout, NamedArray, PoolState, SealedLayout};
use crate::config::PoolConfig;
use crate::error::ConfigError;
use crate::memory_checks::MemoryChecks;
use crate::stacked::{Stack, Stacked, StackedBackend};
use crate::stats::PoolStats;
use core::ptr::NonNull;

impl SealedLayout for Stack {}

impl<B: StackedBackend> Layout<Stacked<B>> for Stack {
    const HAS_SLOTS: bool = false;
    type Root = StackRoot<B>;
    type State = StackState<B>;
    type Cursor = StackCursor<B>;
}

impl<B: StackedBackend> PoolState<Stacked<B>> for StackState<B> {
    type Cursor = StackCursor<B>;

    fn context(&self) -> &B::Context {
        &self.context
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
        config.validate()?;
        self.set_config(MemoryChecks::applied_to(config));
        // SAFETY: the caller guarantees that no part of the pool is in use.
        unsafe { shapes::clear(self) };
        Ok(())
    }

    fn id(&self) -> u64 {
        self.id()
    }

    fn next_serial(&self) -> u64 {
        self.next_serial()
    }

    unsafe fn named(&self, number: usize) -> NamedArray<StackMemory<'_, B>> {
        let name = self.with_names(|names| names[number]);
        let span = Span { start: name.start, next: name.next };
        // SAFETY: the span belongs to this pool, which is live while its state is borrowed.
        let memory = unsafe { StackMemory::new(span, NonNull::from(self)) };
        NamedArray { memory, serial: name.serial, length: name.length }
    }

    unsafe fn cursor(&self, number: usize) -> StackCursor<B> {
        self.with_names(|names| names.truncate(number));
        if number == 0 {
            self.note_pass();
        }
        let last = self.with_names(|names| names.last().map(|name| name.next));
        // SAFETY: array addresses, chunk starts, and `STRAY` are never null.
        let at = unsafe { NonNull::new_unchecked(last.unwrap_or(self.base.get())) };
        // SAFETY: `at` is either the end of the last array or the position at which a pass begins.
        // The caller upholds the other requirements of `StackCursor::new`.
        unsafe { StackCursor::new(at, NonNull::from(self)) }
    }
}
