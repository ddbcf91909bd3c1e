//! Defines the memory of owned arrays for backends that enqueue their work. Each owned array's
//! memory is a pool that contains only this array and has its own context.
//!
//! Like any other pool, this pool orders all uses of its memory. The ordered uses include commands
//! that were enqueued before and after the array changed owners, work on other streams, and the
//! release of the memory. Owned arrays need no additional ordering, because the pool already orders
//! all uses. Only one thread at a time uses an owned array because only one thread at a time uses
//! the array's pool.

use core::fmt;

use super::memory::{OwnedMemory, SealedMemory, SharedBackend};
use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::device::Device;
use crate::dynamic::{DynamicPool, Handle};
use crate::element::{Element, PodElement};
use crate::error::{PoolError, panic_with};
use crate::raw::block_bytes;

/// A trait for creating contexts for a shared pool's arrays. All contexts belong to the same queue.
pub trait ContextSource<B: PoolBackend> {
    /// Creates another context for the same queue.
    ///
    /// # Errors
    ///
    /// Returns the backend's error if the context cannot be created.
    fn context(&self) -> Result<B::Context, B::Error>;

    /// Returns the memory's device.
    fn device(&self) -> Device;
}

/// A pool that contains one owned array. Backends that enqueue their work use this type as their
/// [`Memory`](SharedBackend::Memory).
pub struct PooledMemory<B: PoolBackend> {
    pool: DynamicPool<B>,
}

impl<B: PoolBackend> SealedMemory for PooledMemory<B> {}

impl<B> OwnedMemory<B> for PooledMemory<B>
where
    B: SharedBackend<Memory = Self, Origin: ContextSource<B>>,
    DynamicPool<B>: Send,
{
    type Name<T> = Handle<T>;

    fn device(origin: &B::Origin) -> Device {
        origin.device()
    }

    fn block_bytes(length: usize, element_size: usize) -> Option<usize> {
        block_bytes(length, element_size, B::ALIGN)
    }

    fn allocate(
        origin: &B::Origin,
        bytes: usize,
        config: &PoolConfig,
    ) -> Result<Self, PoolError<B::Error>> {
        let context = origin.context().map_err(|source| PoolError::Backend {
            operation: "create a context for an array",
            source,
        })?;
        let config =
            PoolConfig::new().name(config.name).huge_pages(config.huge_pages).poison(config.poison);
        let mut pool = DynamicPool::with_config(context, config)?;
        if bytes > 0 {
            // The length passed to `try_acquire` is the maximum number of words that fit in a block
            // of `bytes` bytes.
            pool.try_acquire::<u64>(bytes / size_of::<u64>() - 1)?;
            pool.reset();
        }
        Ok(Self { pool })
    }

    fn bytes(&self) -> usize {
        self.pool.stats().reserved_bytes
    }

    fn free(self, _: &B::Origin) {
        drop(self);
    }

    fn settle(origin: &B::Origin) {
        // If no context can be created, the method does not wait, and the memory is freed later.
        if let Ok(context) = origin.context() {
            B::settle(&context);
        }
    }

    fn recycled<T: PodElement>(
        &mut self,
        _: &B::Origin,
        length: usize,
        _: &PoolConfig,
    ) -> Result<Handle<T>, PoolError<B::Error>> {
        self.pool.reset();
        self.pool.try_acquire(length)
    }

    fn zeroed<T: Element>(
        &mut self,
        _: &B::Origin,
        length: usize,
    ) -> Result<Handle<T>, PoolError<B::Error>> {
        self.pool.reset();
        self.pool.try_acquire_zeroed(length)
    }

    fn copied<T: Element>(
        &mut self,
        _: &B::Origin,
        source: &[T],
    ) -> Result<Handle<T>, PoolError<B::Error>> {
        self.pool.reset();
        self.pool.try_acquire_from(source)
    }

    unsafe fn view<T: Element>(&self, name: Handle<T>, _: usize) -> B::ViewRef<'_, T> {
        // The caller guarantees that the handle belongs to this pool and that the handle's array
        // has not been returned.
        self.pool.get(name).unwrap_or_else(|error| panic_with(&error))
    }

    unsafe fn view_mut<T: Element>(&mut self, name: Handle<T>, _: usize) -> B::View<'_, T> {
        // The caller guarantees that the handle belongs to this pool and that the handle's array
        // has not been returned.
        self.pool.get_mut(name).unwrap_or_else(|error| panic_with(&error))
    }
}

impl<B: PoolBackend> fmt::Debug for PooledMemory<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledMemory").field("pool", &self.pool).finish()
    }
}
