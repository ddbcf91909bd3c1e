//! The memory of one owned array, as a backend provides it: [`SharedBackend`] and its two kinds of memory.

use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::device::Device;
use crate::element::{Element, PodElement};
use crate::error::PoolError;

/// A backend whose arrays may be owned: [`SharedPool`](crate::SharedPool), [`Owned`](crate::Owned).
///
/// A host backend chooses [`HostMemory`](crate::HostMemory) and its context as the origin. A backend over a queue
/// chooses [`PooledMemory`](crate::PooledMemory): each array then has a context of its own, made from the origin.
///
/// # Safety
///
/// `barrier_on_all_threads` returns `true` only where it executed such a barrier.
pub unsafe trait SharedBackend: PoolBackend {
    /// The memory of one owned array.
    type Memory: OwnedMemory<Self>;

    /// What all threads share to allocate memory.
    type Origin: Send + Sync + 'static;

    /// Makes the origin of a pool's memory from a context.
    fn origin(context: Self::Context) -> Self::Origin;

    /// Executes a full memory barrier on each thread of the process, and returns whether it did.
    ///
    /// What a thread did before some moment within the call is visible to the caller afterwards, and what the caller did
    /// before the call is visible to that thread after the moment. Where there is such a barrier, threads take and drop
    /// arrays without an atomic exchange.
    #[doc(hidden)]
    #[must_use]
    fn barrier_on_all_threads() -> bool {
        false
    }
}

/// Implemented by the memories of this crate alone.
pub trait SealedMemory {}

/// The memory of one owned array. The trait is sealed.
pub trait OwnedMemory<B: SharedBackend<Memory = Self>>: SealedMemory + Send + Sized {
    /// The name of an array of `T` in this memory.
    #[doc(hidden)]
    type Name<T>: Copy;

    #[doc(hidden)]
    fn device(origin: &B::Origin) -> Device;

    /// The bytes of a block that holds `length` elements of `element_size` bytes; `None` above `isize::MAX`.
    #[doc(hidden)]
    fn block_bytes(length: usize, element_size: usize) -> Option<usize>;

    /// Allocates at least `bytes` bytes.
    ///
    /// # Errors
    ///
    /// [`PoolError::OutOfMemory`] where the backend has no such block.
    #[doc(hidden)]
    fn allocate(
        origin: &B::Origin,
        bytes: usize,
        config: &PoolConfig,
    ) -> Result<Self, PoolError<B::Error>>;

    /// The bytes of the block.
    #[doc(hidden)]
    fn bytes(&self) -> usize;

    /// Frees the block.
    #[doc(hidden)]
    fn free(self, origin: &B::Origin);

    /// Waits until freed memory is back.
    #[doc(hidden)]
    fn settle(origin: &B::Origin);

    /// Hands the memory out with recycled contents.
    ///
    /// # Errors
    ///
    /// [`PoolError::Backend`] where the backend cannot order or initialise it.
    #[doc(hidden)]
    fn recycled<T: PodElement>(
        &mut self,
        origin: &B::Origin,
        length: usize,
        config: &PoolConfig,
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// Hands the memory out zeroed.
    ///
    /// # Errors
    ///
    /// As [`recycled`](Self::recycled).
    #[doc(hidden)]
    fn zeroed<T: Element>(
        &mut self,
        origin: &B::Origin,
        length: usize,
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// Hands the memory out with a copy of `source`.
    ///
    /// # Errors
    ///
    /// As [`recycled`](Self::recycled).
    #[doc(hidden)]
    fn copied<T: Element>(
        &mut self,
        origin: &B::Origin,
        source: &[T],
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// The array, to be read.
    ///
    /// # Safety
    ///
    /// The memory was handed out under this name with `length` elements, and was not since.
    #[doc(hidden)]
    unsafe fn view<T: Element>(&self, name: Self::Name<T>, length: usize) -> B::ViewRef<'_, T>;

    /// The array, to be written.
    ///
    /// # Safety
    ///
    /// As for [`view`](Self::view).
    #[doc(hidden)]
    unsafe fn view_mut<T: Element>(&mut self, name: Self::Name<T>, length: usize)
    -> B::View<'_, T>;
}
