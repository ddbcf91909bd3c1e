//! Defines an owned array's host memory. The value stores a block and the number of bytes in the
//! block that might be uninitialized.

use core::fmt;
use core::ptr::NonNull;

use super::memory::{OwnedMemory, SealedMemory, SharedBackend};
use crate::backend::{Advice, HostBackend, LooseBlock, PoolBackend};
use crate::config::PoolConfig;
use crate::device::Device;
use crate::element::{Element, PodElement};
use crate::error::PoolError;
use crate::slot_ref::SlotRef;
use crate::stacked::StackedBackend;

/// A block of host memory for one owned array. Host backends use this type as their
/// [`Memory`](SharedBackend::Memory).
///
/// # Invariants
///
/// 1. The value owns `block`, which is `bytes` bytes long. `bytes` is 0 if and only if `block` is
///    [`DANGLING`](PoolBackend::DANGLING).
///
/// 2. All bytes at or after the offset `uninitialised` are initialized.
pub struct HostMemory<B: PoolBackend>(LooseBlock<B::Block>);

// SAFETY: a block is plain data that any thread with access to the context may use, as documented
// in `PoolBackend`. The methods that use the context receive a shared reference to it. The bound
// allows every thread to share the context.
unsafe impl<B: PoolBackend<Context: Send + Sync>> Send for HostMemory<B> {}

// SAFETY: the methods that receive `&self` only read the fields and create shared views of the
// block. The bound allows every thread to share the context.
unsafe impl<B: PoolBackend<Context: Send + Sync>> Sync for HostMemory<B> {}

impl<B: PoolBackend> SealedMemory for HostMemory<B> {}

impl<B: HostBackend> HostMemory<B> {
    /// Creates an owned array's memory from a block.
    ///
    /// # Safety
    ///
    /// The caller must own the block, which must be `bytes` bytes long. All bytes at or after the
    /// offset `uninitialised` must be initialized.
    pub(super) unsafe fn from_block(block: LooseBlock<B::Block>) -> Self {
        Self(block)
    }

    /// Returns the block and transfers its ownership to the caller.
    pub(super) fn into_block(self) -> LooseBlock<B::Block> {
        self.0
    }

    /// Returns the address at which an array of `T` starts.
    pub(super) fn start<T>(&self) -> NonNull<T> {
        const {
            assert!(
                align_of::<T>() <= B::ALIGN,
                "the alignment of the element exceeds the backend's `ALIGN`"
            );
        };
        // SAFETY: a host pointer is never null, as `HostBackend` requires.
        unsafe { NonNull::new_unchecked(B::host_pointer(self.0.block).cast()) }
    }

    /// Records that the first `bytes` bytes might become uninitialized.
    pub(super) fn mark(&mut self, bytes: usize) {
        self.0.uninitialised = self.0.uninitialised.max(bytes);
    }

    fn set_bytes(
        &mut self,
        context: &B::Context,
        value: u8,
        bytes: usize,
        operation: &'static str,
    ) -> Result<(), PoolError<B::Error>> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: no caller passes more bytes than the block contains. No view of the block exists,
        // because `self` is borrowed exclusively.
        unsafe { B::set_bytes(context, self.0.block, value, bytes) }
            .map_err(|source| PoolError::Backend { operation, source })?;
        self.note_written(bytes);
        Ok(())
    }

    /// Zeroes all bytes of the block that might be uninitialized, and poisons the array's bytes if
    /// `poison` is `true`.
    #[cold]
    fn initialise(
        &mut self,
        context: &B::Context,
        bytes: usize,
        poison: bool,
    ) -> Result<(), PoolError<B::Error>> {
        self.set_bytes(context, 0, self.0.uninitialised, "zero a block")?;
        if poison {
            self.set_bytes(context, 0xFF, bytes, "poison a block")?;
        }
        Ok(())
    }

    /// Records that the first `bytes` bytes have been written.
    fn note_written(&mut self, bytes: usize) {
        if self.0.uninitialised <= bytes {
            self.0.uninitialised = 0;
        }
    }
}

impl<B> OwnedMemory<B> for HostMemory<B>
where
    B: SharedBackend<Memory = Self, Origin = <B as PoolBackend>::Context>,
    B: HostBackend + StackedBackend<Context: Send + Sync>,
{
    type Name<T> = NonNull<T>;

    fn device(origin: &B::Context) -> Device {
        B::device(origin)
    }

    #[inline(always)]
    fn block_bytes(length: usize, element_size: usize) -> Option<usize> {
        length.checked_mul(element_size).filter(|&bytes| bytes <= isize::MAX as usize)
    }

    fn allocate(
        origin: &B::Context,
        bytes: usize,
        config: &PoolConfig,
    ) -> Result<Self, PoolError<B::Error>> {
        if bytes == 0 {
            return Ok(Self(LooseBlock { block: B::DANGLING, bytes, uninitialised: 0 }));
        }
        let advice = Advice { huge_pages: config.huge_pages };
        let block = B::allocate(origin, bytes, advice).map_err(|source| {
            PoolError::OutOfMemory { requested: bytes, reserved: 0, largest: [0; 3], source }
        })?;
        Ok(Self(LooseBlock { block, bytes, uninitialised: 0 }))
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.0.bytes
    }

    fn free(self, origin: &B::Context) {
        let LooseBlock { block, bytes, .. } = self.0;
        if bytes > 0 {
            // SAFETY: this value owned the block of `bytes` bytes and has been consumed, so no view
            // of the block exists.
            unsafe { B::free(origin, block, bytes) };
        }
    }

    fn settle(origin: &B::Context) {
        B::settle(origin);
    }

    #[inline(always)]
    fn recycled<T: PodElement>(
        &mut self,
        origin: &B::Context,
        length: usize,
        config: &PoolConfig,
    ) -> Result<NonNull<T>, PoolError<B::Error>> {
        if self.0.uninitialised > 0 || config.poison {
            self.initialise(origin, length * size_of::<T>(), config.poison)?;
        }
        Ok(self.start())
    }

    fn zeroed<T: Element>(
        &mut self,
        origin: &B::Context,
        length: usize,
    ) -> Result<NonNull<T>, PoolError<B::Error>> {
        self.set_bytes(origin, 0, length * size_of::<T>(), "zero a block")?;
        Ok(self.start())
    }

    fn copied<T: Element>(
        &mut self,
        origin: &B::Context,
        source: &[T],
    ) -> Result<NonNull<T>, PoolError<B::Error>> {
        if size_of_val(source) > 0 {
            // SAFETY: the block is large enough for all of the elements. No view of the block
            // exists, because `self` is borrowed exclusively.
            unsafe { B::copy_from_host(origin, self.0.block, source) }
                .map_err(|source| PoolError::Backend { operation: "copy from the host", source })?;
            self.note_written(size_of_val(source));
        }
        Ok(self.start())
    }

    #[inline]
    unsafe fn view<T: Element>(&self, name: NonNull<T>, length: usize) -> B::ViewRef<'_, T> {
        let block = B::block_at(name.cast());
        // SAFETY: host backends ignore a view's `SlotRef`, so this reference is never used.
        let slot = unsafe { SlotRef::new(NonNull::dangling()) };
        // SAFETY: the caller guarantees that the block contains an array of `length` valid
        // elements. The block remains allocated while `self` is borrowed, and all other views of it
        // are shared.
        unsafe { B::view_ref(block, slot, length) }
    }

    #[inline]
    unsafe fn view_mut<T: Element>(&mut self, name: NonNull<T>, length: usize) -> B::View<'_, T> {
        let block = B::block_at(name.cast());
        // SAFETY: host backends ignore a view's `SlotRef`, so this reference is never used.
        let slot = unsafe { SlotRef::new(NonNull::dangling()) };
        // SAFETY: the caller guarantees that the block contains an array of `length` valid
        // elements. No other view of the block exists, because `self` is borrowed exclusively.
        unsafe { B::view(block, slot, length) }
    }
}

/// A host backend whose arrays can be owned.
///
/// Every such backend implements this trait automatically. The trait is shorthand for the bounds
/// that methods for host memory require.
pub trait SharedHostBackend:
    SharedBackend<Memory = HostMemory<Self>, Origin = <Self as PoolBackend>::Context>
    + HostBackend
    + StackedBackend<Context: Send + Sync>
{
}

impl<B> SharedHostBackend for B where
    B: SharedBackend<Memory = HostMemory<B>, Origin = <B as PoolBackend>::Context>
        + HostBackend
        + StackedBackend<Context: Send + Sync>
{
}

impl<B: PoolBackend> fmt::Debug for HostMemory<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostMemory").field("bytes", &self.0.bytes).finish_non_exhaustive()
    }
}
