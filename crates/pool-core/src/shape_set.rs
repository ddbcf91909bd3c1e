//! The shapes that a pool remembers of one array: a set of ways, each with dims and row-major strides, and what the
//! backend put beside them. No way holds an address.

use alloc::vec::Vec;
use core::any::TypeId;
use core::fmt;
use core::mem;

use crate::lengths::Lengths;

/// The shapes of one array, in no order; eviction goes round robin. `D` is the backend's descriptor.
pub(crate) struct ShapeSet<D> {
    ways: Vec<Way<D>>,
    /// How many ways the set may have.
    capacity: usize,
    /// The way that the next miss evicts, once all are taken. A hit does not move it.
    victim: usize,
}

/// A remembered shape, and what the backend keeps beside it.
pub struct Way<D> {
    pub(crate) element: TypeId,
    pub(crate) lengths: Lengths,
    /// The elements of the shape: the product of the dims, checked when the way was made.
    pub(crate) count: usize,
    /// What the backend keeps beside the shape.
    pub(crate) descriptor: D,
}

impl<D> ShapeSet<D> {
    /// A set without shapes, and room for `capacity` ways; the bytes that were asked for where the host has
    /// no memory for them.
    pub(crate) fn with_capacity(capacity: usize) -> Result<Self, usize> {
        let mut ways = Vec::new();
        ways.try_reserve_exact(capacity).map_err(|_| capacity * size_of::<Way<D>>())?;
        Ok(Self { ways, capacity, victim: 0 })
    }

    /// The shape `dims` of elements of a type, if it is there.
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

    /// The way of an index that [`put`](Self::put) returned.
    pub(crate) fn way(&mut self, index: usize) -> &mut Way<D> {
        &mut self.ways[index]
    }

    /// Puts a way where there is room, or in place of the next victim; returns where, and the victim.
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

/// Axes of the pieces that shapes are compared in.
const PIECE: usize = 4;

/// Returns `true` if two shapes of one rank are equal. From four axes to eight, the first four and
/// the last four axes are compared, which may overlap, and no axis is counted.
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
