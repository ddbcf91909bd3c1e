//! Acquires for backends that keep something of their own beside a cached shape: what they return are the
//! parts that such a backend makes its view of.

use crate::backend::{ArrayMemory, CursorPlace, FirstUse, Memory, Place, PoolBackend, ScopeCursor};
use crate::element::PodElement;
use crate::error::PoolError;
use crate::lengths::DynamicShape;
use crate::scope::Scope;
use crate::shape_set::Way;
use crate::slot_ref::SlotRef;

impl<'s, B: PoolBackend> Scope<'s, B> {
    /// The parts of an array of dynamic rank, for backends that keep something of their own beside a
    /// cached shape: the block, the shape, and the descriptor, which is as the backend left it when
    /// the same slot had the same shape and element type last, or new.
    ///
    /// # Errors
    ///
    /// Same as [`try_acquire`](Self::try_acquire).
    ///
    /// # Safety
    ///
    /// The block's first [`length`](DescribedBlock::length) elements are the caller's for `'s`, once:
    /// at most one exclusive view may be made of them. The descriptor must not come into the hands of
    /// safe code that could write it.
    #[inline(always)]
    pub unsafe fn try_acquire_described<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<DescribedBlock<'s, B>, PoolError<B::Error>> {
        // SAFETY: the pool lives for `'s`, and what follows steps past the slot of this place at most.
        let place: Place<'s, B> = unsafe { self.cursor.place() };
        // SAFETY: the slot is at the cursor, so nothing borrowed from its set is in use.
        let (memory, way) = match unsafe { place.fitting_shape::<T>(dims) } {
            Some(described) => described,
            // SAFETY: the cursor is still where the place was taken.
            None => unsafe { place.prepare_shape::<T>(dims, FirstUse::Read) }?,
        };
        // SAFETY: just reserved through this cursor; what ran meanwhile could not acquire (invariant 9).
        unsafe { self.cursor.step(memory) };
        Ok(DescribedBlock::new::<T>(memory, way))
    }

    /// Does the same as [`try_acquire_described`](Self::try_acquire_described).
    ///
    /// # Panics
    ///
    /// Panics with the text of the error.
    ///
    /// # Safety
    ///
    /// Same as for [`try_acquire_described`](Self::try_acquire_described).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn acquire_described<T: PodElement>(&self, dims: &[usize]) -> DescribedBlock<'s, B> {
        // SAFETY: the pool lives for `'s`, and what follows steps past the slot of this place at most.
        let place: Place<'s, B> = unsafe { self.cursor.place() };
        // SAFETY: the slot is at the cursor, so nothing borrowed from its set is in use.
        let (memory, way) = match unsafe { place.fitting_shape::<T>(dims) } {
            Some(described) => described,
            // SAFETY: the cursor is still where the place was taken.
            None => unsafe { place.prepare_shape_or_panic::<T>(dims) },
        };
        // SAFETY: just reserved through this cursor; what ran meanwhile could not acquire (invariant 9).
        unsafe { self.cursor.step(memory) };
        DescribedBlock::new::<T>(memory, way)
    }
}

impl<B: PoolBackend> Scope<'_, B> {
    /// Gives back the memory of a [`DescribedBlock`] that no view was made of. Where this
    /// scope has acquired since, the memory stays taken until the scope ends.
    ///
    /// # Safety
    ///
    /// `taken` is of a block that this scope has handed out by
    /// [`try_acquire_described`](Self::try_acquire_described) or its twin; no view of it was made, and
    /// nothing of the rest is in use.
    #[inline(always)]
    pub unsafe fn give_back_described(&self, taken: TakenMemory<'_, B>) {
        // SAFETY: this scope's cursor has stepped past the memory, of which there is no view (caller).
        unsafe { self.cursor.step_back(taken.0) };
    }
}

/// The memory of a [`DescribedBlock`], to be [given back](Scope::give_back_described) where no view can be made.
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
    /// The slot that holds the block, for the view that is made.
    pub slot: SlotRef<B>,
    /// The memory that was taken.
    pub taken: TakenMemory<'s, B>,
    /// How many elements of the block were acquired.
    pub length: usize,
    /// The shape and its strides.
    pub shape: DynamicShape<'s>,
    /// What the backend keeps beside the cached shape.
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
