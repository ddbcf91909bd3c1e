//! Implements the N-way shape cache, which stores a set of shapes for each slot whose arrays have a
//! dynamic rank. When a cold function replaces a slot's block, it also drops all of the slot's
//! shapes.
//!
//! An entry contains the lengths, the strides, and the backend's descriptor, but no address. An
//! entry therefore never becomes stale. Every cached shape fits in the slot's block. Entries are
//! evicted in round-robin order. The worst case is a loop that uses one more shape than the set can
//! hold. In such a loop, every lookup misses the cache, and each miss allocates a few words on the
//! host.

use core::any::TypeId;
use core::ptr::NonNull;

use super::advertise::WithdrawnSlot;
use super::slot::SlotPointer;
use crate::backend::PoolBackend;
use crate::element::Element;
use crate::error::PoolError;
use crate::lengths::Lengths;
use crate::shape_set::{ShapeSet, Way};
use crate::try_box::try_box;

/// Returns the shape `dims` for elements of type `T` from the slot's set, or `None` if the set does
/// not contain it. The caller does not need to check `dims`, because every shape is checked before
/// it is added to the set.
///
/// # Safety
///
/// No reference into the slot's set may be in use.
#[inline(always)]
pub(super) unsafe fn find<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
) -> Option<&'s mut Way<B::Descriptor>> {
    // SAFETY: the slot's table is live, and no reference to the slot's shape-set pointer exists.
    let mut shapes = NonNull::new(unsafe { *slot.shapes().as_ptr() })?;
    // SAFETY: a set exists until a cold function removes it from an idle slot. The caller
    // guarantees that no reference into the set is in use. If the acquire method fails after this
    // call, the reference that this call returned is not used again, even if the method is retried.
    // The new reference is therefore the only reference to the set that is in use.
    let set: &'s mut ShapeSet<B::Descriptor> = unsafe { shapes.as_mut() };
    set.find(TypeId::of::<T>(), dims)
}

/// Counts a shape-cache hit.
#[inline(always)]
pub(super) fn note_hit<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    slot.state().shape_hits.increment();
}

/// Returns the shape `dims` for `count` elements of type `T` from the slot's set. If the set does
/// not contain the shape, the function adds it.
///
/// # Safety
///
/// The slot must be reserved for `count` elements of `T`, and `count` must be the product of `dims`
/// (invariant 8). The cursor must not have moved past the slot, because no reference into the
/// slot's set may be in use.
pub(super) unsafe fn find_or_insert<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B::Descriptor>, PoolError<B::Error>> {
    // SAFETY: the caller upholds the safety contract of `find`.
    if let Some(way) = unsafe { find::<B, T>(slot, dims) } {
        note_hit(slot);
        return Ok(way);
    }
    // SAFETY: the caller upholds the contract of `insert`, and no reference from `find` is in use.
    unsafe { insert::<B, T>(slot, dims, count) }
}

/// Adds a shape that the slot's set does not contain. If the slot has no set, the function creates
/// one.
///
/// # Safety
///
/// The requirements are the same as for [`find_or_insert`].
#[inline(always)]
pub(super) unsafe fn insert<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B::Descriptor>, PoolError<B::Error>> {
    // SAFETY: the caller upholds the safety contract of `insert_of_type`.
    unsafe { insert_of_type(slot, TypeId::of::<T>(), dims, count) }
}

/// Implements [`insert`] and is compiled only once for all element types.
///
/// # Safety
///
/// The requirements are the same as for [`find_or_insert`].
#[cold]
#[inline(never)]
unsafe fn insert_of_type<'s, B: PoolBackend>(
    slot: SlotPointer<'s, B>,
    element: TypeId,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B::Descriptor>, PoolError<B::Error>> {
    let state = slot.state();
    // The pool is marked as busy here, because the hot path might have reserved the slot without
    // marking the pool. Until the slot is acquired, the allocator and the backend's descriptors
    // might run code that tries to acquire the same slot.
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    // SAFETY: the caller guarantees that the slot is idle. The slot remains idle because a busy
    // pool hands out no memory.
    let _withdrawn = unsafe { WithdrawnSlot::new(slot) };
    state.shape_misses.increment();

    let lengths = Lengths::of(dims).map_err(|requested| PoolError::Bookkeeping { requested })?;
    let way = Way { element, lengths, count, descriptor: B::Descriptor::default() };
    // SAFETY: the caller guarantees that no reference into the slot's set is in use.
    let mut shapes = unsafe { set_of(slot) }?;
    // SAFETY: a set lives until a cold function removes it from its idle slot, and no reference
    // into the set is in use.
    let (index, evicted) = unsafe { shapes.as_mut() }.put(way);
    // Dropping the evicted entry runs backend code. By the time the backend code runs, the set is
    // complete, and no reference to it is in use.
    drop(evicted);
    // SAFETY: a set lives until a cold function removes it from its idle slot. Throughout `'s`, no
    // other reference to the set exists.
    let set: &'s mut ShapeSet<B::Descriptor> = unsafe { shapes.as_mut() };
    Ok(set.way(index))
}

/// Returns the slot's set. If the slot has no set, the function creates one.
///
/// # Safety
///
/// The slot must be idle.
unsafe fn set_of<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
) -> Result<NonNull<ShapeSet<B::Descriptor>>, PoolError<B::Error>> {
    let place = slot.shapes().as_ptr();
    // SAFETY: the slot's table is live, and no reference to the slot's shape-set pointer exists.
    if let Some(shapes) = NonNull::new(unsafe { *place }) {
        return Ok(shapes);
    }
    let no_memory = |requested| PoolError::Bookkeeping { requested };
    let set = ShapeSet::with_capacity(slot.state().config().ways).map_err(no_memory)?;
    let shapes = try_box(set).ok_or(no_memory(size_of::<ShapeSet<B::Descriptor>>()))?;
    // SAFETY: the slot's table is live, and no reference to the slot's shape-set pointer exists.
    unsafe { *place = shapes.as_ptr() };
    Ok(shapes)
}
