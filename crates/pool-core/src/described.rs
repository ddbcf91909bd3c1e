//! Defines acquire methods for backends that attach their own data to a cached shape. The
//! `acquire_described` and `try_acquire_described` methods return an array's parts. A backend
//! builds its own view from these parts.

use crate::backend::{ArrayMemory, CursorPlace, FirstUse, Memory, Place, PoolBackend, ScopeCursor};
use crate::element::PodElement;
use crate::error::PoolError;
use crate::lengths::DynamicShape;
use crate::scope::Scope;
use crate::shape_set::Way;
use crate::slot_ref::SlotRef;

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// Acquires an array of dynamic rank and returns its parts, including the block, the shape, and
    /// the descriptor. This method is intended for backends that attach a descriptor to each cached
    /// shape. The descriptor is either new or unchanged since the slot last contained an array with
    /// the same shape and element type.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire).
    ///
    /// # Safety
    ///
    /// The first [`length`](DescribedBlock::length) elements of the block belong to the caller for
    /// `'s`. The caller must not create more than one exclusive view of these elements. Safe code
    /// must not be able to modify the descriptor.
    #[inline(always)]
    pub unsafe fn try_acquire_described<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<DescribedBlock<'s, B>, PoolError<B::Error>> {
        // SAFETY: the pool outlives `'s`, and this method moves the cursor only past memory that it
        // reserves at this position.
        let place: Place<'s, B> = unsafe { self.cursor.place() };
        // SAFETY: the slot at the cursor has not been handed out, so no reference into its shape
        // set is in use.
        let (memory, way) = match unsafe { place.fitting_shape::<T>(dims) } {
            Some(described) => described,
            // SAFETY: the cursor has not moved since its position was read.
            None => unsafe { place.prepare_shape::<T>(dims, FirstUse::Read) }?,
        };
        // SAFETY: the slot was just reserved through this cursor. No array has been acquired since
        // the reservation, because acquire methods fail with `PoolError::Reentered` while a slot is
        // reserved.
        unsafe { self.cursor.step(memory) };
        Ok(DescribedBlock::new::<T>(memory, way))
    }

    /// The panicking version of [`try_acquire_described`](Self::try_acquire_described).
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_described`](Self::try_acquire_described) would
    /// return.
    ///
    /// # Safety
    ///
    /// The same requirements as for [`try_acquire_described`](Self::try_acquire_described) apply.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn acquire_described<T: PodElement>(&self, dims: &[usize]) -> DescribedBlock<'s, B> {
        // SAFETY: the pool outlives `'s`, and this method moves the cursor only past memory that it
        // reserves at this position.
        let place: Place<'s, B> = unsafe { self.cursor.place() };
        // SAFETY: the slot at the cursor has not been handed out, so no reference into its shape
        // set is in use.
        let (memory, way) = match unsafe { place.fitting_shape::<T>(dims) } {
            Some(described) => described,
            // SAFETY: the cursor has not moved since its position was read.
            None => unsafe { place.prepare_shape_or_panic::<T>(dims) },
        };
        // SAFETY: the slot was just reserved through this cursor. No array has been acquired since
        // the reservation, because acquire methods fail with `PoolError::Reentered` while a slot is
        // reserved.
        unsafe { self.cursor.step(memory) };
        DescribedBlock::new::<T>(memory, way)
    }
}

impl<B: PoolBackend> Scope<'_, B> {
    /// Returns the memory of a [`DescribedBlock`] to the scope if no view of the block has been
    /// created. If this scope has acquired another array since it handed out the block, the memory
    /// stays in use until the scope ends.
    ///
    /// # Safety
    ///
    /// `taken` must belong to a block that this scope returned from
    /// [`try_acquire_described`](Self::try_acquire_described) or
    /// [`acquire_described`](Self::acquire_described). No view of the block may have been created,
    /// and no other part of the [`DescribedBlock`] may be in use.
    #[inline(always)]
    pub unsafe fn give_back_described(&self, taken: TakenMemory<'_, B>) {
        // SAFETY: this scope's cursor has moved past the memory, and the caller guarantees that no
        // view of it exists.
        unsafe { self.cursor.step_back(taken.0) };
    }
}

/// The memory of a [`DescribedBlock`]. The memory can be [returned to the
/// scope](Scope::give_back_described) if no view of the block exists.
#[derive(Debug)]
pub struct TakenMemory<'s, B: PoolBackend>(Memory<'s, B>);

impl<B: PoolBackend> Clone for TakenMemory<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: PoolBackend> Copy for TakenMemory<'_, B> {}

/// The parts of an array of dynamic rank, as returned by [`Scope::try_acquire_described`].
#[derive(Debug)]
#[non_exhaustive]
pub struct DescribedBlock<'s, B: PoolBackend> {
    /// The block that stores the elements.
    pub block: B::Block,
    /// The slot that holds the block. A view of the block can be created only through this slot.
    pub slot: SlotRef<B>,
    /// The acquired memory, which can be passed to [`Scope::give_back_described`].
    pub taken: TakenMemory<'s, B>,
    /// The number of acquired elements.
    pub length: usize,
    /// The array's shape and strides.
    pub shape: DynamicShape<'s>,
    /// The data that the backend attaches to the cached shape.
    pub descriptor: &'s mut B::Descriptor,
}

impl<'s, B: PoolBackend> DescribedBlock<'s, B> {
    #[inline(always)]
    fn new<T>(memory: Memory<'s, B>, way: &'s mut Way<B::Descriptor>) -> Self {
        Self {
            block: memory.block_for::<T>(),
            slot: memory.reference(),
            taken: TakenMemory(memory),
            length: way.count,
            shape: DynamicShape(&way.lengths),
            descriptor: &mut way.descriptor,
        }
    }
}
