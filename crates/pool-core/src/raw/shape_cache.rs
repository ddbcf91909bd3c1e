//! The N-way shape cache: one set of shapes for each slot that is used with a dynamic rank. Cold
//! code that replaces the slot's block drops the whole set.
//!
//! An entry contains lengths, strides and the backend's descriptor, but no address. Nothing in it
//! can therefore become stale, and a cached shape fits without a check. Entries are evicted round
//! robin. In the worst case, a loop uses one shape more than the set holds: each acquire then
//! misses, and allocates a few words on the host.

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

/// Returns the shape `dims` of elements `T` from the slot's set, if it is cached. `dims` need not
/// be checked, because every shape was checked when it was added to the set.
///
/// # Safety
///
/// Nothing borrowed from the slot's set is in use.
#[inline(always)]
pub(super) unsafe fn find<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
) -> Option<&'s mut Way<B::Descriptor>> {
    // SAFETY: the slot's table is live and nothing holds a reference to the pointer.
    let mut shapes = NonNull::new(unsafe { *slot.shapes().as_ptr() })?;
    // SAFETY: a set lives until cold code takes it from its slot, which is idle at that time.
    // Nothing borrowed from the set is in use (caller). If the acquire fails after this and is
    // tried again, the earlier reference is no longer used. While this reference is used, it is
    // therefore the only one.
    let set: &'s mut ShapeSet<B::Descriptor> = unsafe { shapes.as_mut() };
    set.find(TypeId::of::<T>(), dims)
}

/// Counts a hit of the shape cache.
#[inline(always)]
pub(super) fn note_hit<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    slot.state().shape_hits.increment();
}

/// Returns the shape `dims` of `count` elements `T` from the slot's set, and adds it to the set if
/// it is missing.
///
/// # Safety
///
/// The slot is reserved for `count` elements of `T`, which is the product of `dims` (invariant 8).
/// The cursor has not stepped past the slot, so nothing borrowed from its set is in use.
pub(super) unsafe fn find_or_insert<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B::Descriptor>, PoolError<B::Error>> {
    // SAFETY: the caller upholds the same contract.
    if let Some(way) = unsafe { find::<B, T>(slot, dims) } {
        note_hit(slot);
        return Ok(way);
    }
    // SAFETY: the caller upholds this contract, and the reference above is no longer used.
    unsafe { insert::<B, T>(slot, dims, count) }
}

/// Adds a shape that the set does not contain, and creates the set if there is none.
///
/// # Safety
///
/// Same as for [`find_or_insert`].
#[inline(always)]
pub(super) unsafe fn insert<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B::Descriptor>, PoolError<B::Error>> {
    // SAFETY: the caller upholds the same contract.
    unsafe { insert_of_type(slot, TypeId::of::<T>(), dims, count) }
}

/// Does the same as [`insert`], compiled once for all types of elements.
///
/// # Safety
///
/// Same as for [`find_or_insert`].
#[cold]
#[inline(never)]
unsafe fn insert_of_type<'s, B: PoolBackend>(
    slot: SlotPointer<'s, B>,
    element: TypeId,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B::Descriptor>, PoolError<B::Error>> {
    let state = slot.state();
    // The slot may have been found on the hot path. Until it is taken, the allocator and the
    // backend's descriptors may run code that uses the slot.
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    // SAFETY: the slot is idle (caller), and stays idle because acquires are refused while the pool
    // is marked.
    let _withdrawn = unsafe { WithdrawnSlot::new(slot) };
    state.shape_misses.increment();

    let lengths = Lengths::of(dims).map_err(|requested| PoolError::Bookkeeping { requested })?;
    let way = Way { element, lengths, count, descriptor: B::Descriptor::default() };
    // SAFETY: nothing borrowed from the slot's set is in use (caller).
    let mut shapes = unsafe { set_of(slot) }?;
    // SAFETY: a set lives until its slot is idle and cold code takes the set. Nothing borrowed from
    // it is in use.
    let (index, evicted) = unsafe { shapes.as_mut() }.put(way);
    // Dropping the evicted entry runs the backend's code. By this time, the set is complete, and
    // nothing refers to it.
    drop(evicted);
    // SAFETY: as above. This is the only reference to the set for `'s`.
    let set: &'s mut ShapeSet<B::Descriptor> = unsafe { shapes.as_mut() };
    Ok(set.way(index))
}

/// Returns the slot's set, and creates it if there is none.
///
/// # Safety
///
/// The slot is idle.
unsafe fn set_of<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
) -> Result<NonNull<ShapeSet<B::Descriptor>>, PoolError<B::Error>> {
    let place = slot.shapes().as_ptr();
    // SAFETY: the slot's table is live and nothing holds a reference to the pointer.
    if let Some(shapes) = NonNull::new(unsafe { *place }) {
        return Ok(shapes);
    }
    let no_memory = |requested| PoolError::Bookkeeping { requested };
    let set = ShapeSet::with_capacity(slot.state().config().ways).map_err(no_memory)?;
    let shapes = try_box(set).ok_or(no_memory(size_of::<ShapeSet<B::Descriptor>>()))?;
    // SAFETY: as above.
    unsafe { *place = shapes.as_ptr() };
    Ok(shapes)
}
