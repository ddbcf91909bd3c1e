//! Implements a stack's shape cache. The cache stores one set of shapes for each offset at which an
//! array with a dynamic rank starts (invariant 9). Passes with the same lengths use the same
//! offsets, so their shapes are in the cache. An array at a new offset uses the set of the next
//! idle offset.

use alloc::vec::Vec;
use core::alloc::Layout;
use core::any::TypeId;
use core::ptr::NonNull;

use super::cold::{self, Demand};
use super::memory::{MOST_HOT_BYTES, Span, fit_bytes};
use super::state::{OffsetShapes, SHAPE_HINTS, StackState};
use crate::backend::FirstUse;
use crate::element::Element;
use crate::error::PoolError;
use crate::lengths::{Lengths, element_count};
use crate::shape_set::{ShapeSet, Way};
use crate::stacked::StackedBackend;
use crate::try_box::{into_box, try_box};

/// A span of memory together with its cached shape.
type SpanAndShape<'s, B> = (Span, &'s mut Way<<B as crate::backend::PoolBackend>::Descriptor>);

/// Returns the span and the cached shape of an array at a cursor. Returns `None` if the shape is
/// not cached or if the elements fit only after a call to the cold function.
///
/// # Safety
///
/// The pool must outlive `'s`, and `at` must be the address of one of the pool's cursors. No set
/// whose offset is at or above the cursor's offset may be borrowed.
#[inline(always)]
pub(super) unsafe fn fitting<'s, B: StackedBackend, T: Element>(
    state: &'s StackState<B>,
    at: NonNull<u8>,
    dims: &[usize],
) -> Option<SpanAndShape<'s, B>> {
    // If the pool is not settled, both the origin and `end` are null, so `fit_bytes` returns `None`
    // below.
    let offset = at.addr().get().wrapping_sub(state.origin.get().addr());
    let hint = usize::from(state.shape_hints[hint_of::<B>(offset)].get());
    let set = state
        .with_shapes(|sets| sets.get(hint).filter(|set| set.offset == offset).map(|set| set.set))?;
    // SAFETY: a set exists until its pool is destroyed or exclusively borrowed. The caller
    // guarantees that no reference into the set is in use.
    let set: &'s mut ShapeSet<B::Descriptor> = unsafe { &mut *set.as_ptr() };
    let way = set.find(TypeId::of::<T>(), dims)?;
    // Each array uses at least one line, so no two arrays have the same offset. An array with a
    // cached shape has at most `isize::MAX` bytes because memory for such an array has already been
    // allocated. The hot path hands out only arrays of at most `MOST_HOT_BYTES` bytes.
    let bytes = (way.count * size_of::<T>()).max(1);
    if bytes > MOST_HOT_BYTES || align_of::<T>() > B::ALIGN {
        return None;
    }
    let span = fit_bytes(state, at, bytes, FirstUse::Read)?;
    state.shape_hits.increment();
    Some((span, way))
}

/// Returns the index of the hint for an offset.
#[inline(always)]
const fn hint_of<B: StackedBackend>(offset: usize) -> usize {
    (offset / B::ALIGN) & (SHAPE_HINTS - 1)
}

/// Returns the span and the shape of an array, calling the cold function if necessary. If the shape
/// is new, the function adds it to the cache.
///
/// # Errors
///
/// Returns the same errors as the acquire methods.
///
/// # Safety
///
/// The requirements are the same as for [`fitting`]. No view of memory at or above the cursor may
/// exist.
#[cold]
#[inline(never)]
pub(super) unsafe fn prepare<'s, B: StackedBackend, T: Element>(
    state: &'s StackState<B>,
    at: NonNull<u8>,
    dims: &[usize],
    first_use: FirstUse,
) -> Result<SpanAndShape<'s, B>, PoolError<B::Error>> {
    let length = element_count(dims, size_of::<T>())?;
    let demand = if length * size_of::<T>() > 0 {
        Demand::new::<T>(length, first_use)
    } else {
        // As in `fitting`, the array uses at least one line, and its start is aligned for `T`.
        let element = Layout::new::<u8>().align_to(align_of::<T>()).unwrap_or(Layout::new::<u8>());
        Demand {
            length: 1,
            least: 1,
            element,
            first_use: FirstUse::Write,
            kept_bytes: 0,
            is_growth: false,
        }
    };
    let offset = state.with_chunks(|chunks| {
        let position = chunks.position(at.as_ptr());
        position.and_then(|number| chunks.get(number)).map_or(0, |chunk| chunk.live_at(at.as_ptr()))
    });
    // SAFETY: the caller upholds the safety contract of `cold::prepare`.
    let span = unsafe { cold::prepare(state, at.as_ptr(), demand) }?;
    // SAFETY: the caller guarantees that no set whose offset is at or above the given offset is
    // borrowed.
    let way = unsafe { find_or_insert(state, offset, TypeId::of::<T>(), dims, length) }?;
    Ok((span, way))
}

/// Returns a shape from the set that belongs to an offset. If the set does not contain the shape,
/// the function adds it.
///
/// # Safety
///
/// The pool must outlive `'s`, and `count` must be the product of `dims`. No set whose offset is at
/// or above the given offset may be borrowed.
#[expect(
    clippy::mut_from_ref,
    reason = "the way is in a set of its own, which is lent to one array at a time"
)]
unsafe fn find_or_insert<'s, B: StackedBackend>(
    state: &'s StackState<B>,
    offset: usize,
    element: TypeId,
    dims: &[usize],
    count: usize,
) -> Result<&'s mut Way<B::Descriptor>, PoolError<B::Error>> {
    // The pool is marked as busy because the allocator and the backend's descriptors might run user
    // code.
    let Some(_busy) = state.busy() else { return Err(PoolError::Reentered) };
    let set = set_at(state, offset).map_err(|requested| PoolError::Bookkeeping { requested })?;
    // SAFETY: a set exists until its pool is destroyed or exclusively borrowed. The caller
    // guarantees that no reference into the set is in use.
    if let Some(way) = unsafe { &mut *set.as_ptr() }.find(element, dims) {
        state.shape_hits.increment();
        // SAFETY: this reference is derived from the reference above and is the only reference to
        // the set during `'s`.
        return Ok(unsafe { &mut *core::ptr::from_mut(way) });
    }
    state.shape_misses.increment();
    let lengths = Lengths::of(dims).map_err(|requested| PoolError::Bookkeeping { requested })?;
    let way = Way { element, lengths, count, descriptor: B::Descriptor::default() };
    // SAFETY: a set exists until its pool is destroyed or exclusively borrowed. No reference into
    // the set is in use.
    let (index, evicted) = unsafe { &mut *set.as_ptr() }.put(way);
    // Dropping the evicted entry runs backend code. No reference to the set is in use while backend
    // code runs.
    drop(evicted);
    // SAFETY: a set exists until its pool is destroyed or exclusively borrowed. Throughout `'s`, no
    // other reference to the set exists.
    Ok(unsafe { &mut *set.as_ptr() }.way(index))
}

/// Returns the set for an offset. The function returns the first set at or above the offset. This
/// set is always idle. If no set is at or above the offset, the function creates one.
///
/// # Errors
///
/// Returns the number of bytes that the host could not allocate.
fn set_at<B: StackedBackend>(
    state: &StackState<B>,
    offset: usize,
) -> Result<NonNull<ShapeSet<B::Descriptor>>, usize> {
    let (index, found) = state.with_shapes(|sets| {
        let index = sets.partition_point(|set| set.offset < offset);
        let found = sets.get_mut(index).map(|set| {
            set.offset = offset;
            set.set
        });
        (index, found)
    });
    let hint = u16::try_from(index).unwrap_or(0);
    state.shape_hints[hint_of::<B>(offset)].set(hint);
    if let Some(set) = found {
        return Ok(set);
    }
    let mut longer = Vec::new();
    if state.with_shapes(|sets| sets.len() == sets.capacity()) {
        let bytes = (2 * index + 1) * size_of::<OffsetShapes<B>>();
        longer.try_reserve_exact(2 * index + 1).map_err(|_| bytes)?;
    }
    let set = ShapeSet::with_capacity(state.config().ways)?;
    let set = try_box(set).ok_or(size_of::<ShapeSet<B::Descriptor>>())?;
    let old = state.with_shapes(|sets| {
        if sets.len() == sets.capacity() {
            longer.append(sets);
            core::mem::swap(sets, &mut longer);
        }
        sets.push(OffsetShapes { offset, set });
        longer
    });
    // The old list is freed outside the closure because the allocator might run user code.
    drop(old);
    Ok(set)
}

/// Drops all shape sets.
///
/// # Safety
///
/// No reference into a set may be in use.
pub(super) unsafe fn clear<B: StackedBackend>(state: &StackState<B>) {
    while let Some(last) = state.with_shapes(Vec::pop) {
        // SAFETY: `try_box` created the set. The list contained the only pointer to the set, and
        // that pointer has been removed from the list.
        drop(unsafe { into_box(last.set) });
    }
}
