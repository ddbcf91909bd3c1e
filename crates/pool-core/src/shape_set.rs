//! The shapes that a pool caches for one array: a set of entries, each with dims, row-major strides
//! and the backend's data. No entry contains an address.

use alloc::vec::Vec;
use core::any::TypeId;
use core::fmt;
use core::mem;

use crate::lengths::Lengths;

/// The cached shapes of one array, unordered, with round-robin eviction. `D` is the backend's
/// descriptor.
pub(crate) struct ShapeSet<D> {
    ways: Vec<Way<D>>,
    /// The maximum number of entries.
    capacity: usize,
    /// The entry that the next miss evicts, if the set is full. A hit does not change it.
    victim: usize,
}

/// A cached shape, and the backend's data for it.
pub struct Way<D> {
    pub(crate) element: TypeId,
    pub(crate) lengths: Lengths,
    /// The number of elements: the product of the dims, checked when the entry was created.
    pub(crate) count: usize,
    /// The backend's data for the shape.
    pub(crate) descriptor: D,
}

impl<D> ShapeSet<D> {
    /// Creates an empty set that can hold `capacity` shapes. Fails with the number of bytes
    /// requested if the host has no memory for them.
    pub(crate) fn with_capacity(capacity: usize) -> Result<Self, usize> {
        let mut ways = Vec::new();
        ways.try_reserve_exact(capacity).map_err(|_| capacity * size_of::<Way<D>>())?;
        Ok(Self { ways, capacity, victim: 0 })
    }

    /// Returns the cached shape `dims` of an element type, if present.
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

    /// Returns the entry at an index that [`put`](Self::put) returned.
    pub(crate) fn way(&mut self, index: usize) -> &mut Way<D> {
        &mut self.ways[index]
    }

    /// Adds an entry to a free position, or evicts an entry for it. Returns the index of the new
    /// entry, and the evicted entry.
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

/// The number of axes that are compared together.
const PIECE: usize = 4;

/// Returns `true` if two shapes of the same rank are equal. For ranks four to eight, it compares
/// the first four axes and the last four, which may overlap, without a loop counter.
#[inline(always)]
fn same_dims(own: &[usize], asked: &[usize]) -> bool {
    let same = |axis: usize| {
        // SAFETY: the callers below pass axes below the rank, which is the length of both lists.
        let own = unsafe { own.as_ptr().wrapping_add(axis).read() };
        // SAFETY: as above. Each axis is loaded separately, because callers have often just written
        // the lengths one by one. A wide load would wait until all of these writes have left the
        // processor's store buffer.
        own == unsafe { asked.as_ptr().wrapping_add(axis).read_volatile() }
    };
    let rank = own.len();
    if !(PIECE..=2 * PIECE).contains(&rank) {
        // Starts with the last axis, because counting down to zero needs no extra comparison.
        return (0..rank).rev().all(same);
    }
    let same_piece = |from: usize| same(from) && same(from + 1) && same(from + 2) && same(from + 3);
    same_piece(0) && same_piece(rank - PIECE)
}
