//! Memory of a backend over a queue: a pool of one array, with a context of its own.
//!
//! The pool orders the array's uses as every pool does: commands on the queue before and after the array changes its
//! owner, other streams, and freeing. So an owned array needs no order of its own. One thread uses it at a time,
//! because one thread uses its pool at a time.

use core::fmt;

use super::memory::{OwnedMemory, SealedMemory, SharedBackend};
use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::device::Device;
use crate::dynamic::{DynamicPool, Handle};
use crate::element::{Element, PodElement};
use crate::error::{PoolError, panic_with};
use crate::raw::block_bytes;

/// Creates the contexts of a shared pool's arrays, all of the same queue.
pub trait ContextSource<B: PoolBackend> {
    /// Creates another context of the queue.
    ///
    /// # Errors
    ///
    /// The backend's own error if it cannot create a context.
    fn context(&self) -> Result<B::Context, B::Error>;

    /// Returns the device of the memory.
    fn device(&self) -> Device;
}

/// A pool of one owned array: the [`Memory`](SharedBackend::Memory) of backends whose work is enqueued.
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
            // The longest array of words that a block of `bytes` bytes holds.
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
        // Waiting is optional: if no context can be created, the memory is freed later.
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
        // The handle is of this pool, and its array was not returned (caller).
        self.pool.get(name).unwrap_or_else(|error| panic_with(&error))
    }

    unsafe fn view_mut<T: Element>(&mut self, name: Handle<T>, _: usize) -> B::View<'_, T> {
        // As in `view`.
        self.pool.get_mut(name).unwrap_or_else(|error| panic_with(&error))
    }
}

impl<B: PoolBackend> fmt::Debug for PooledMemory<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledMemory").field("pool", &self.pool).finish()
    }
}
