//! Defines the set of shapes that a pool caches for one array. Each entry stores the dimensions,
//! the row-major strides, and the backend's data for one shape. No entry in the set contains a
//! memory address.

use alloc::vec::Vec;
use core::any::TypeId;
use core::fmt;
use core::mem;

use crate::lengths::Lengths;

/// The cached shapes of one array, stored in no particular order and evicted in round-robin order.
/// The type parameter `D` is the backend's descriptor.
pub(crate) struct ShapeSet<D> {
    ways: Vec<Way<D>>,
    /// The maximum number of entries.
    capacity: usize,
    /// The index of the entry that the next cache miss evicts if the set is full. A cache hit does
    /// not change which entry is evicted next.
    victim: usize,
}

/// A cached shape together with the backend's data for this shape.
pub struct Way<D> {
    pub(crate) element: TypeId,
    pub(crate) lengths: Lengths,
    /// The number of elements, which is the product of the dimensions. The product was checked for
    /// overflow when the entry was created.
    pub(crate) count: usize,
    /// The data that the backend stores with the shape.
    pub(crate) descriptor: D,
}

impl<D> ShapeSet<D> {
    /// Creates an empty set that can hold `capacity` shapes. If the host cannot allocate the
    /// entries, the method fails with the number of bytes that it requested.
    pub(crate) fn with_capacity(capacity: usize) -> Result<Self, usize> {
        let mut ways = Vec::new();
        ways.try_reserve_exact(capacity).map_err(|_| capacity * size_of::<Way<D>>())?;
        Ok(Self { ways, capacity, victim: 0 })
    }

    /// Returns the cached entry for the shape `dims` and the given element type, if any.
    #[inline(always)]
    pub(crate) fn find(&mut self, element: TypeId, dims: &[usize]) -> Option<&mut Way<D>> {
        #[expect(clippy::manual_find, reason = "the compiler does not always inline `find`")]
        for way in &mut self.ways {
            if way.is(element, dims) {
                return Some(way);
            }
        }
        None
    }

    /// Returns the entry at an index obtained from [`put`](Self::put).
    pub(crate) fn way(&mut self, index: usize) -> &mut Way<D> {
        &mut self.ways[index]
    }

    /// Adds an entry to the set and, if the set is full, evicts another entry. Returns the new
    /// entry's index, together with the evicted entry, if any.
    #[inline]
    pub(crate) fn put(&mut self, way: Way<D>) -> (usize, Option<Way<D>>) {
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

impl<D> Way<D> {
    #[inline(always)]
    fn is(&self, element: TypeId, dims: &[usize]) -> bool {
        self.lengths.rank() == dims.len()
            && self.element == element
            && same_dims(self.lengths.dims(), dims)
    }
}

impl<D> fmt::Debug for Way<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way").field("dims", &self.lengths.dims()).finish_non_exhaustive()
    }
}

/// The number of axes that are compared in one step.
const PIECE: usize = 4;

/// Returns `true` if two shapes of the same rank are equal. For ranks from four to eight, the
/// function compares the first four and the last four axes without a loop counter. Some axes might
/// be compared twice.
#[inline(always)]
fn same_dims(own: &[usize], asked: &[usize]) -> bool {
    let same = |axis: usize| {
        // SAFETY: every axis passed to this closure is less than the rank, which is the length of
        // both lists.
        let own = unsafe { own.as_ptr().wrapping_add(axis).read() };
        // SAFETY: every axis passed to this closure is less than the rank, which is the length of
        // both lists. Each axis is loaded separately because callers have often just written the
        // lengths one by one. A wide load would have to wait until all of those writes have left
        // the processor's store buffer.
        own == unsafe { asked.as_ptr().wrapping_add(axis).read_volatile() }
    };
    let rank = own.len();
    if !(PIECE..=2 * PIECE).contains(&rank) {
        // The comparison starts with the last axis because counting down to zero requires no
        // additional comparison.
        return (0..rank).rev().all(same);
    }
    let same_piece = |from: usize| same(from) && same(from + 1) && same(from + 2) && same(from + 3);
    same_piece(0) && same_piece(rank - PIECE)
}
