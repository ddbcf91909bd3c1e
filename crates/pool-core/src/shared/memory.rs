//! The memory of one owned array, as a backend provides it: [`SharedBackend`] and its two kinds of memory.

use crate::backend::PoolBackend;
use crate::config::PoolConfig;
use crate::device::Device;
use crate::element::{Element, PodElement};
use crate::error::PoolError;

/// A backend whose arrays can be owned: [`SharedPool`](crate::SharedPool), [`Owned`](crate::Owned).
///
/// A host backend chooses [`HostMemory`](crate::HostMemory) and its context as the origin. A backend over a queue
/// chooses [`PooledMemory`](crate::PooledMemory): each array then has a context of its own, made from the origin.
///
/// # Safety
///
/// `barrier_on_all_threads` returns `true` only if it executed such a barrier.
pub unsafe trait SharedBackend: PoolBackend {
    /// The memory of one owned array.
    type Memory: OwnedMemory<Self>;

    /// The state with which all threads allocate memory.
    type Origin: Send + Sync + 'static;

    /// Makes the origin of a pool's memory from a context.
    fn origin(context: Self::Context) -> Self::Origin;

    /// Executes a full memory barrier on each thread of the process. Returns `false` if it did not.
    ///
    /// For each thread there is a moment within the call. The caller sees afterwards what the thread wrote before this
    /// moment. The thread sees after this moment what the caller wrote before the call. With such a barrier, threads
    /// take and drop arrays without an atomic exchange.
    #[doc(hidden)]
    #[must_use]
    fn barrier_on_all_threads() -> bool {
        false
    }
}

/// A trait that only the memories of this crate implement.
pub trait SealedMemory {}

/// The memory of one owned array. The trait is sealed.
pub trait OwnedMemory<B: SharedBackend<Memory = Self>>: SealedMemory + Send + Sized {
    /// The name of an array of `T` in this memory.
    #[doc(hidden)]
    type Name<T>: Copy;

    #[doc(hidden)]
    fn device(origin: &B::Origin) -> Device;

    /// Returns the bytes of a block that holds `length` elements of `element_size` bytes; `None` above `isize::MAX`.
    #[doc(hidden)]
    fn block_bytes(length: usize, element_size: usize) -> Option<usize>;

    /// Allocates at least `bytes` bytes.
    ///
    /// # Errors
    ///
    /// [`PoolError::OutOfMemory`] if the backend has no such block.
    #[doc(hidden)]
    fn allocate(
        origin: &B::Origin,
        bytes: usize,
        config: &PoolConfig,
    ) -> Result<Self, PoolError<B::Error>>;

    /// Returns the bytes of the block.
    #[doc(hidden)]
    fn bytes(&self) -> usize;

    /// Frees the block.
    #[doc(hidden)]
    fn free(self, origin: &B::Origin);

    /// Waits until freed memory can be allocated again.
    #[doc(hidden)]
    fn settle(origin: &B::Origin);

    /// Begins an array with recycled contents.
    ///
    /// # Errors
    ///
    /// [`PoolError::Backend`] if the backend cannot order or initialise the memory.
    #[doc(hidden)]
    fn recycled<T: PodElement>(
        &mut self,
        origin: &B::Origin,
        length: usize,
        config: &PoolConfig,
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// Begins an array of zeroed bytes.
    ///
    /// # Errors
    ///
    /// Same as [`recycled`](Self::recycled).
    #[doc(hidden)]
    fn zeroed<T: Element>(
        &mut self,
        origin: &B::Origin,
        length: usize,
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// Begins an array with a copy of `source`.
    ///
    /// # Errors
    ///
    /// Same as [`recycled`](Self::recycled).
    #[doc(hidden)]
    fn copied<T: Element>(
        &mut self,
        origin: &B::Origin,
        source: &[T],
    ) -> Result<Self::Name<T>, PoolError<B::Error>>;

    /// Returns the array's view for reading.
    ///
    /// # Safety
    ///
    /// This name is that of the latest array in the memory, which has `length` elements.
    #[doc(hidden)]
    unsafe fn view<T: Element>(&self, name: Self::Name<T>, length: usize) -> B::ViewRef<'_, T>;

    /// Returns the array's view for writing.
    ///
    /// # Safety
    ///
    /// Same as for [`view`](Self::view).
    #[doc(hidden)]
    unsafe fn view_mut<T: Element>(&mut self, name: Self::Name<T>, length: usize)
    -> B::View<'_, T>;
}
