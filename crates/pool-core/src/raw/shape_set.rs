//! The N-way shape cache: one set of shapes for each slot that is used with a dynamic rank. A way
//! keeps dims and row-major strides, and what the backend put beside them; it keeps no address, and
//! cold code that replaces the slot's block drops the whole set.

use alloc::vec::Vec;
use core::any::TypeId;
use core::ptr::NonNull;
use core::slice;

use super::host::try_box;
use super::slot::SlotPointer;
use crate::backend::PoolBackend;
use crate::element::Element;
use crate::error::PoolError;
use crate::shape::{DynamicShape, write_row_major_strides};

/// The shapes of one slot, newest use unordered; eviction goes round robin.
pub(crate) struct ShapeSet<B: PoolBackend> {
    ways: Vec<Way<B>>,
    /// How many ways there may be.
    capacity: usize,
    /// The way that the next miss evicts, once all are taken. A hit does not move it.
    victim: usize,
}

/// One remembered shape.
struct Way<B: PoolBackend> {
    element: TypeId,
    lengths: Lengths,
    /// The elements of the shape: the product of the dims, checked when the way was made.
    count: usize,
    descriptor: B::Descriptor,
}

/// Dims and row-major strides, in one piece of memory.
struct Lengths {
    /// The dims, then as many strides.
    lengths: Vec<usize>,
    /// Half as many as there are lengths.
    rank: usize,
}

/// A shape of the cache, and what the backend keeps beside it.
#[derive(Debug)]
pub(crate) struct CachedShape<'s, B: PoolBackend> {
    pub(crate) shape: DynamicShape<'s>,
    pub(crate) count: usize,
    pub(crate) descriptor: &'s mut B::Descriptor,
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
) -> Option<CachedShape<'s, B>> {
    // SAFETY: the record is live and nothing holds a reference to it.
    let mut shapes = NonNull::new(unsafe { (*slot.record().as_ptr()).shapes })?;
    // SAFETY: a set lives until its slot is idle and cold code drops it; nothing borrowed from it is
    // in use (caller), so this is its only reference for `'s`.
    let set: &'s mut ShapeSet<B> = unsafe { shapes.as_mut() };
    let element = TypeId::of::<T>();
    // A loop and no iterator's `find`, which the compiler does not always inline.
    for way in &mut set.ways {
        if way.is(element, dims) {
            return Some(way.cached());
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
/// Nothing borrowed from the slot's set is in use.
pub(super) unsafe fn find_or_insert<'s, B: PoolBackend, T: Element>(
    slot: SlotPointer<'s, B>,
    dims: &[usize],
    count: usize,
) -> Result<CachedShape<'s, B>, PoolError<B::Error>> {
    // SAFETY: the caller's promise.
    if let Some(cached) = unsafe { find::<B, T>(slot, dims) } {
        note_hit(slot);
        return Ok(cached);
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
) -> Result<CachedShape<'s, B>, PoolError<B::Error>> {
    let state = slot.state();
    let misses = &state.shape_misses;
    misses.set(misses.get() + 1);
    let no_memory = |requested| PoolError::Bookkeeping { requested };

    let lengths = Lengths::of(dims).map_err(no_memory)?;
    let way = Way { element, lengths, count, descriptor: B::Descriptor::default() };

    let record = slot.record().as_ptr();
    // SAFETY: the record is live and nothing holds a reference to it.
    let mut shapes = match NonNull::new(unsafe { (*record).shapes }) {
        Some(shapes) => shapes,
        None => {
            let capacity = state.config().ways;
            let mut ways = Vec::new();
            ways.try_reserve_exact(capacity)
                .map_err(|_| no_memory(capacity * size_of::<Way<B>>()))?;
            let shapes = try_box(ShapeSet { ways, capacity, victim: 0 })
                .ok_or(no_memory(size_of::<ShapeSet<B>>()))?;
            // SAFETY: as above.
            unsafe { (*record).shapes = shapes.as_ptr() };
            shapes
        }
    };
    // SAFETY: as in `find_or_insert`.
    let set: &'s mut ShapeSet<B> = unsafe { shapes.as_mut() };
    Ok(set.put(way).cached())
}

impl<B: PoolBackend> ShapeSet<B> {
    /// Puts a way where there is room, or in place of the next victim.
    fn put(&mut self, way: Way<B>) -> &mut Way<B> {
        if self.ways.len() < self.capacity {
            self.ways.push(way);
            let last = self.ways.len() - 1;
            return &mut self.ways[last];
        }
        let victim = self.victim;
        self.victim = (victim + 1) % self.capacity;
        self.ways[victim] = way;
        &mut self.ways[victim]
    }
}

impl<B: PoolBackend> Way<B> {
    #[inline(always)]
    fn is(&self, element: TypeId, dims: &[usize]) -> bool {
        self.lengths.rank == dims.len()
            && self.element == element
            && same_dims(self.lengths.shape().dims, dims)
    }

    #[inline(always)]
    fn cached(&mut self) -> CachedShape<'_, B> {
        CachedShape {
            shape: self.lengths.shape(),
            count: self.count,
            descriptor: &mut self.descriptor,
        }
    }
}

impl Lengths {
    /// The dims and their strides; the bytes that were asked for where there is no memory for them.
    fn of(dims: &[usize]) -> Result<Self, usize> {
        let rank = dims.len();
        let mut lengths = Vec::new();
        lengths.try_reserve_exact(2 * rank).map_err(|_| 2 * size_of_val(dims))?;
        lengths.resize(2 * rank, 0);
        let (own_dims, strides) = lengths.split_at_mut(rank);
        own_dims.copy_from_slice(dims);
        write_row_major_strides(dims, strides);
        Ok(Self { lengths, rank })
    }

    #[inline(always)]
    fn shape(&self) -> DynamicShape<'_> {
        let (lengths, rank) = (self.lengths.as_ptr(), self.rank);
        // SAFETY: `of` made twice `rank` lengths, which nothing changes; the dims are the first half.
        let dims = unsafe { slice::from_raw_parts(lengths, rank) };
        // SAFETY: as above.
        let strides = unsafe { lengths.add(rank) };
        // SAFETY: as above; the strides are the second half.
        let strides = unsafe { slice::from_raw_parts(strides, rank) };
        DynamicShape { dims, strides }
    }
}

/// Whether two shapes of one rank are equal, axis by axis: a caller has often just written the lengths
/// one by one, and several that are loaded at once would wait for that. From the last one, because
/// counting down to zero needs no comparison of its own.
#[inline(always)]
fn same_dims(own: &[usize], asked: &[usize]) -> bool {
    own.iter().zip(asked).rev().all(|(own, asked)| own == asked)
}
