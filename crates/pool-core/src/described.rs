//! Acquire methods for backends that store their own data with a cached shape. They return the
//! parts from which such a backend builds its view.

use crate::backend::{ArrayMemory, CursorPlace, FirstUse, Memory, Place, PoolBackend, ScopeCursor};
use crate::element::PodElement;
use crate::error::PoolError;
use crate::lengths::DynamicShape;
use crate::scope::Scope;
use crate::shape_set::Way;
use crate::slot_ref::SlotRef;

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// Acquires the parts of an array of dynamic rank: the block, the shape and the descriptor.
    /// This method is for backends that store a descriptor with a cached shape. The descriptor is
    /// either new, or unchanged since the slot last held the same shape and element type.
    ///
    /// # Errors
    ///
    /// Same as [`try_acquire`](Self::try_acquire).
    ///
    /// # Safety
    ///
    /// The block's first [`length`](DescribedBlock::length) elements belong to the caller for `'s`,
    /// so the caller may create at most one exclusive view of them. Safe code must not obtain write
    /// access to the descriptor.
    #[inline(always)]
    pub unsafe fn try_acquire_described<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<DescribedBlock<'s, B>, PoolError<B::Error>> {
        // SAFETY: the pool lives for `'s`, and the code below steps at most past the slot at this
        // position.
        let place: Place<'s, B> = unsafe { self.cursor.place() };
        // SAFETY: the slot is at the cursor, so nothing borrowed from its shape set is in use.
        let (memory, way) = match unsafe { place.fitting_shape::<T>(dims) } {
            Some(described) => described,
            // SAFETY: the cursor has not moved since its position was read.
            None => unsafe { place.prepare_shape::<T>(dims, FirstUse::Read) }?,
        };
        // SAFETY: the slot was just reserved through this cursor. Code that ran in between could
        // not acquire (invariant 9).
        unsafe { self.cursor.step(memory) };
        Ok(DescribedBlock::new::<T>(memory, way))
    }

    /// Panicking version of [`try_acquire_described`](Self::try_acquire_described).
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_described`](Self::try_acquire_described) returns.
    ///
    /// # Safety
    ///
    /// Same as for [`try_acquire_described`](Self::try_acquire_described).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn acquire_described<T: PodElement>(&self, dims: &[usize]) -> DescribedBlock<'s, B> {
        // SAFETY: the pool lives for `'s`, and the code below steps at most past the slot at this
        // position.
        let place: Place<'s, B> = unsafe { self.cursor.place() };
        // SAFETY: the slot is at the cursor, so nothing borrowed from its shape set is in use.
        let (memory, way) = match unsafe { place.fitting_shape::<T>(dims) } {
            Some(described) => described,
            // SAFETY: the cursor has not moved since its position was read.
            None => unsafe { place.prepare_shape_or_panic::<T>(dims) },
        };
        // SAFETY: the slot was just reserved through this cursor. Code that ran in between could
        // not acquire (invariant 9).
        unsafe { self.cursor.step(memory) };
        DescribedBlock::new::<T>(memory, way)
    }
}

impl<B: PoolBackend> Scope<'_, B> {
    /// Returns the memory of a [`DescribedBlock`] for which no view was created. If this scope has
    /// acquired anything since, the memory stays taken until the scope ends.
    ///
    /// # Safety
    ///
    /// `taken` belongs to a block that this scope handed out with
    /// [`try_acquire_described`](Self::try_acquire_described) or
    /// [`acquire_described`](Self::acquire_described). No view of the block was created, and no
    /// other part of the [`DescribedBlock`] is in use.
    #[inline(always)]
    pub unsafe fn give_back_described(&self, taken: TakenMemory<'_, B>) {
        // SAFETY: this scope's cursor has stepped past the memory, and there is no view of it
        // (caller).
        unsafe { self.cursor.step_back(taken.0) };
    }
}

/// The memory of a [`DescribedBlock`], which can be [returned](Scope::give_back_described) if no
/// view can be created.
#[derive(Debug)]
pub struct TakenMemory<'s, B: PoolBackend>(Memory<'s, B>);

impl<B: PoolBackend> Clone for TakenMemory<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: PoolBackend> Copy for TakenMemory<'_, B> {}

/// The parts of an array of dynamic rank that [`Scope::try_acquire_described`] returns.
#[derive(Debug)]
#[non_exhaustive]
pub struct DescribedBlock<'s, B: PoolBackend> {
    /// The block that holds the elements.
    pub block: B::Block,
    /// The slot that holds the block, for the view.
    pub slot: SlotRef<B>,
    /// The memory, for [`Scope::give_back_described`].
    pub taken: TakenMemory<'s, B>,
    /// The number of elements that were acquired.
    pub length: usize,
    /// The shape and its strides.
    pub shape: DynamicShape<'s>,
    /// The backend's data for the cached shape.
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
