//! The N-way shape cache: one set of shapes for each slot that is used with a dynamic rank. A way
//! keeps dims and row-major strides, and what the backend put beside them; it keeps no address, and
//! cold code that replaces the slot's block drops the whole set.

use alloc::vec::Vec;
use core::any::TypeId;
use core::mem;
use core::ptr::NonNull;

use super::busy::Withdrawn;
use super::host::try_box;
use super::slot::SlotPointer;
use crate::backend::PoolBackend;
use crate::element::Element;
use crate::error::PoolError;
use crate::shape::Lengths;

/// The shapes of one slot, newest use unordered; eviction goes round robin.
pub(crate) struct ShapeSet<B: PoolBackend> {
    ways: Vec<Way<B>>,
    /// How many ways there may be.
    capacity: usize,
    /// The way that the next miss evicts, once all are taken. A hit does not move it.
    victim: usize,
}

/// One remembered shape.
pub(crate) struct Way<B: PoolBackend> {
    element: TypeId,
    pub(crate) lengths: Lengths,
    /// The elements of the shape: the product of the dims, checked when the way was made.
    pub(crate) count: usize,
    /// What the backend keeps beside the shape.
    pub(crate) descriptor: B::Descriptor,
}

/// The shape `dims` of elements `T` in the slot's set, if it is there. Nothing of `dims` is trusted:
/// what is found was checked when it was put there.
///
/// # Safety
///
/// Nothing borrowed from the slot's set is in use.
#[inline(always)]
pub(super) unsafe fn find<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
) -> Option<&'s mut Way<B>> {
    // SAFETY: the slot's table is live and nothing holds a reference to the place.
    let mut shapes = NonNull::new(unsafe { *slot.shapes().as_ptr() })?;
    // SAFETY: a set lives until cold code takes it from its slot, which is idle then; nothing borrowed
    // from it is in use (caller). Where the acquire fails after this and is tried again, what this one
    // returned is out of use. So while this reference is used, it is the only one.
    let set: &'s mut ShapeSet<B> = unsafe { shapes.as_mut() };
    let element = TypeId::of::<T>();
    #[expect(clippy::manual_find, reason = "the compiler does not always inline `find`")]
    for way in &mut set.ways {
        if way.is(element, dims) {
            return Some(way);
        }
    }
    None
}

/// Counts a hit.
#[inline(always)]
pub(super) fn note_hit<B: PoolBackend>(slot: SlotPointer<'_, B>) {
    let hits = &slot.state().shape_hits;
    hits.set(hits.get() + 1);
}

/// The shape `dims` of `count` elements `T` in the slot's set; a miss puts it there.
///
/// # Safety
///
/// The slot is idle, and reserved for `count` elements of `T`, the product of `dims` (invariant 8); nothing
/// borrowed from its set is in use.
pub(super) unsafe fn find_or_insert<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B>, PoolError<B::Error>> {
    // SAFETY: the caller's promise.
    if let Some(way) = unsafe { find::<B, T>(slot, dims) } {
        note_hit(slot);
        return Ok(way);
    }
    // SAFETY: the caller's promise; the reference above is gone.
    unsafe { insert(slot, TypeId::of::<T>(), dims, count) }
}

/// The miss: makes the set if there is none, and puts the shape into it.
///
/// # Safety
///
/// As for [`find_or_insert`].
#[cold]
#[inline(never)]
unsafe fn insert<'s, B: PoolBackend>(
    slot: SlotPointer<'s, B>,
    element: TypeId,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B>, PoolError<B::Error>> {
    let state = slot.state();
    // The slot may have been found hot: until it is taken, the allocator and the backend's descriptors
    // may run code that reaches for it.
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    // SAFETY: the slot is idle (caller), and stays so: acquires are refused while the pool is marked.
    let _withdrawn = unsafe { Withdrawn::new(slot) };
    let misses = &state.shape_misses;
    misses.set(misses.get() + 1);

    let lengths = Lengths::of(dims).map_err(|requested| PoolError::Bookkeeping { requested })?;
    let way = Way { element, lengths, count, descriptor: B::Descriptor::default() };
    // SAFETY: nothing borrowed from the slot's set is in use (caller).
    let mut shapes = unsafe { set_of(slot) }?;
    // SAFETY: a set lives until its slot is idle and cold code takes it; nothing borrowed from it is in use.
    let (index, evicted) = unsafe { shapes.as_mut() }.put(way);
    // Runs the backend's code, with the set as it will be and no reference to it.
    drop(evicted);
    // SAFETY: as above; this is its only reference for `'s`.
    let set: &'s mut ShapeSet<B> = unsafe { shapes.as_mut() };
    Ok(&mut set.ways[index])
}

/// The slot's set, which is made if there is none.
///
/// # Safety
///
/// The slot is idle.
unsafe fn set_of<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
) -> Result<NonNull<ShapeSet<B>>, PoolError<B::Error>> {
    let place = slot.shapes().as_ptr();
    // SAFETY: the slot's table is live and nothing holds a reference to the place.
    if let Some(shapes) = NonNull::new(unsafe { *place }) {
        return Ok(shapes);
    }
    let no_memory = |requested| PoolError::Bookkeeping { requested };
    let capacity = slot.state().config().ways;
    let mut ways = Vec::new();
    ways.try_reserve_exact(capacity).map_err(|_| no_memory(capacity * size_of::<Way<B>>()))?;
    let shapes = try_box(ShapeSet { ways, capacity, victim: 0 })
        .ok_or(no_memory(size_of::<ShapeSet<B>>()))?;
    // SAFETY: as above.
    unsafe { *place = shapes.as_ptr() };
    Ok(shapes)
}

impl<B: PoolBackend> ShapeSet<B> {
    /// Puts a way where there is room, or in place of the next victim; returns where, and the victim.
    fn put(&mut self, way: Way<B>) -> (usize, Option<Way<B>>) {
        let count = self.ways.len();
        if count < self.capacity {
            self.ways.push(way);
            return (count, None);
        }
        let victim = self.victim;
        self.victim = (victim + 1) % self.capacity;
        (victim, Some(mem::replace(&mut self.ways[victim], way)))
    }
}

impl<B: PoolBackend> Way<B> {
    #[inline(always)]
    fn is(&self, element: TypeId, dims: &[usize]) -> bool {
        self.lengths.rank() == dims.len()
            && self.element == element
            && same_dims(self.lengths.dims(), dims)
    }
}

/// Axes of the pieces that shapes are compared in.
const PIECE: usize = 4;

/// Whether two shapes of one rank are equal. From four axes to eight, the first four and the last four
/// are compared, which may overlap, and nothing is counted.
#[inline(always)]
fn same_dims(own: &[usize], asked: &[usize]) -> bool {
    let same = |axis: usize| {
        // SAFETY: the callers below give axes below the rank, which both have.
        let own = unsafe { own.as_ptr().wrapping_add(axis).read() };
        // SAFETY: as above. By itself: a caller has often just written the lengths one by one, and a
        // load of several at once would wait until they all have left the processor's store buffer.
        own == unsafe { asked.as_ptr().wrapping_add(axis).read_volatile() }
    };
    let rank = own.len();
    if !(PIECE..=2 * PIECE).contains(&rank) {
        // From the last one, because counting down to zero needs no comparison of its own.
        return (0..rank).rev().all(same);
    }
    let same_piece = |from: usize| same(from) && same(from + 1) && same(from + 2) && same(from + 3);
    same_piece(0) && same_piece(rank - PIECE)
}
