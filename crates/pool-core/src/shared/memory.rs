//! Defines the memory that a backend provides for an owned array. This module contains the
//! [`SharedBackend`] trait and the trait that owned memory types implement.

use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::device::Device;
use crate::element::{Element, PodElement};
use crate::error::PoolError;

/// A backend whose arrays can be owned. Such a backend can be used with
/// [`SharedPool`](crate::SharedPool) and [`Owned`](crate::Owned).
///
/// A host backend uses [`HostMemory`](crate::HostMemory) as its memory type and its context as the
/// origin. A backend that enqueues its work uses [`PooledMemory`](crate::PooledMemory). Each array
/// in a `PooledMemory` has its own context, which is created from the origin.
///
/// # Safety
///
/// `barrier_on_all_threads` must return `true` only if it has executed a memory barrier on all
/// threads.
pub unsafe trait SharedBackend: PoolBackend {
    /// The memory of one owned array.
    type Memory: OwnedMemory<Self>;

    /// The state that any thread can use to allocate memory.
    type Origin: Send + Sync + 'static;

    /// Creates the origin of a pool's memory from a context.
    fn origin(context: Self::Context) -> Self::Origin;

    /// Executes a full memory barrier on every thread of the process. Returns `false` if the
    /// barrier was not executed.
    ///
    /// Each thread executes its barrier at some point during the call. After the call, the caller
    /// sees everything that each thread wrote before its barrier. After its barrier, a thread sees
    /// everything that the caller wrote before the call. If the backend provides this barrier,
    /// threads can acquire and drop arrays without an atomic exchange instruction.
    #[doc(hidden)]
    #[must_use]
    fn barrier_on_all_threads() -> bool {
        false
    }
}

/// A trait that is implemented only by this crate's memory types.
pub trait SealedMemory {}

/// The memory of one owned array. The trait is sealed.
pub trait OwnedMemory<B: SharedBackend<Memory = Self>>: SealedMemory + Send + Sized {
    /// A value that identifies an array of `T` in this memory.
    #[doc(hidden)]
    type Name<T>: Copy;

    #[doc(hidden)]
    fn device(origin: &B::Origin) -> Device;

    /// Returns the size in bytes of a block that holds `length` elements of `element_size` bytes.
    /// Returns `None` if the size exceeds `isize::MAX`.
    #[doc(hidden)]
    fn block_bytes(length: usize, element_size: usize) -> Option<usize>;

    /// Allocates a block of at least `bytes` bytes.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::OutOfMemory`] if the backend cannot allocate the block.
    #[doc(hidden)]
    fn allocate(
        origin: &B::Origin,
        bytes: usize,
        config: &PoolConfig,
    ) -> Result<Self, PoolError<B::Error>>;

    /// Returns the block's size in bytes.
    #[doc(hidden)]
    fn bytes(&self) -> usize;

    /// Frees the block.
    #[doc(hidden)]
    fn free(self, origin: &B::Origin);

    /// Waits until freed memory is available for new allocations.
    #[doc(hidden)]
    fn settle(origin: &B::Origin);

    /// Creates an array with recycled contents in this memory.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::Backend`] if the backend cannot initialize the memory or cannot wait
    /// for pending work on it.
    #[doc(hidden)]
    fn recycled<T: PodElement>(
        &mut self,
        origin: &B::Origin,
        length: usize,
        config: &PoolConfig,
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// Creates a zeroed array in this memory.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`recycled`](Self::recycled).
    #[doc(hidden)]
    fn zeroed<T: Element>(
        &mut self,
        origin: &B::Origin,
        length: usize,
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// Creates an array in this memory that contains a copy of `source`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`recycled`](Self::recycled).
    #[doc(hidden)]
    fn copied<T: Element>(
        &mut self,
        origin: &B::Origin,
        source: &[T],
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// Returns a view for reading the array.
    ///
    /// # Safety
    ///
    /// `name` must identify the array that was most recently created in this memory, and that array
    /// must have `length` elements.
    #[doc(hidden)]
    unsafe fn view<T: Element>(&self, name: Self::Name<T>, length: usize) -> B::ViewRef<'_, T>;

    /// Returns a view for writing the array.
    ///
    /// # Safety
    ///
    /// The requirements are the same as for [`view`](Self::view).
    #[doc(hidden)]
    unsafe fn view_mut<T: Element>(&mut self, name: Self::Name<T>, length: usize)
    -> B::View<'_, T>;
}
