//! The layout of stacks, and its part of what every pool can do.

use super::cursor::StackCursor;
use super::memory::{Span, StackMemory};
use super::root::StackRoot;
use super::settle::settle;
use super::shapes;
use super::state::StackState;
use crate::backend::{Layout, NamedArray, PoolState};
use crate::config::PoolConfig;
use crate::error::ConfigError;
use crate::stacked::{Stacked, StackedBackend};
use crate::stats::PoolStats;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// The layout in which arrays lie one after the other: see [`Stacked`].
#[derive(Clone, Copy, Debug)]
pub struct Stack;

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

    fn forget_peaks(&self) {
        self.forget_peaks();
    }

    unsafe fn configure(&self, config: PoolConfig) -> Result<(), ConfigError> {
        config.validate()?;
        self.set_config(config);
        // SAFETY: nothing of the pool is in use (caller).
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
        // SAFETY: a span of this pool, which lives while its state is borrowed.
        let memory = unsafe { StackMemory::new(span, NonNull::from(self)) };
        NamedArray { memory, serial: name.serial, length: name.length }
    }

    unsafe fn cursor(&self, number: usize) -> StackCursor<B> {
        self.with_names(|names| names.truncate(number));
        let last = self.with_names(|names| names.last().map(|name| name.next));
        let at = match last.and_then(NonNull::new) {
            Some(at) => at,
            // SAFETY: no view of the pool is in use, and every cursor is replaced (caller).
            None => unsafe { settle(self) },
        };
        // SAFETY: where the last array ends, or where the first cursor is made; the rest is the caller's promise.
        unsafe { StackCursor::new(at, NonNull::from(self)) }
    }

    unsafe fn resting_cursor(&self) -> StackCursor<B> {
        self.with_names(Vec::clear);
        let first = self.with_chunks(|chunks| chunks.get(0).map(|chunk| chunk.start));
        let at = first.and_then(NonNull::new).unwrap_or_else(|| B::address(B::DANGLING));
        // SAFETY: the start of the first chunk, or a stray address; the rest is the caller's promise.
        unsafe { StackCursor::new(at, NonNull::from(self)) }
    }
}
