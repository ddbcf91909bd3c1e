//! Calls a host backend's acquire methods for one element type and checks the results.

use std::mem::{MaybeUninit, size_of};

use pool_core::{HostArray, HostBackend, PoolBackend, PoolError, PoolVec, PoolView, Scope};

use super::element::{HostSample, host_samples, with_host_kind};
use super::request::{HostAcquire, HostForm};
use super::slice::{Extent, HeldSlice};

/// The result of an acquire from one of the backend's pools.
pub(crate) type HostResult<T, B> = Result<T, PoolError<<B as PoolBackend>::Error>>;

/// An event that occurs during an acquire.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    /// The element with this index is the next one to be created. The code that creates the element
    /// may itself acquire memory or panic.
    Element(usize),
    /// A vector has requested `asked` bytes of the block at `start`, and has written `written` of
    /// them.
    Written { start: usize, written: usize, asked: usize },
    /// A vector moved its elements to the next slot's block.
    Moved,
}

/// Calls either the method's panicking variant or the variant that returns an error.
macro_rules! call {
    ($panics:expr, $on:ident.$plain:ident | $tried:ident($($argument:expr),*)) => {
        if $panics { $on.$plain($($argument),*) } else { $on.$tried($($argument),*)? }
    };
}

/// Acquires elements with any acquire method and checks their contents.
pub(super) fn acquire<'s, B: HostBackend>(
    scope: &Scope<'s, B>,
    asked: &HostAcquire,
    seed: u64,
    watch: &dyn Fn(Moment),
) -> HostResult<HeldSlice<'s>, B> {
    with_host_kind!(asked.kind, Element => {
        if asked.form.leaves_room() {
            room::<B, Element>(scope, asked, seed)
        } else {
            let slice = slice::<B, Element>(scope, asked, seed, watch)?;
            assert!(*slice == content::<Element>(asked, seed), "a slice of the wrong content: {slice:?}");
            let extent = extent::<Element>(slice, asked);
            Ok(HeldSlice::new(slice, extent, alignment::<B, Element>(extent), seed))
        }
    })
}

/// Returns the elements that the acquire should return.
pub(super) fn content<T: HostSample>(asked: &HostAcquire, seed: u64) -> Vec<T> {
    host_samples(seed, asked.count())
}

/// Returns the range of memory that an acquire handed out.
pub(super) fn extent<T>(slice: &[T], asked: &HostAcquire) -> Extent {
    let extent = Extent::of(slice);
    match asked.form {
        HostForm::FixedVec(more) => extent.asked((slice.len() + more) * size_of::<T>()),
        _ => extent,
    }
}

/// Returns the expected alignment of a view at the start of a block. If the view contains no bytes,
/// the alignment of `T` suffices.
pub(super) fn alignment<B: PoolBackend, T>(extent: Extent) -> usize {
    if extent.bytes == 0 { align_of::<T>() } else { B::ALIGN }
}

/// Acquires uninitialized memory for elements.
pub(super) fn room<'s, B: HostBackend, T: HostSample>(
    scope: &Scope<'s, B>,
    asked: &HostAcquire,
    seed: u64,
) -> HostResult<HeldSlice<'s>, B> {
    let HostAcquire { form, length, panics, .. } = *asked;
    if let HostForm::Scratch(align) = form {
        let bytes: &mut [MaybeUninit<u8>] =
            call!(panics, scope.scratch | try_scratch(length, align));
        assert_eq!(bytes.len(), length, "scratch memory of another length than asked for");
        let extent = Extent::of(bytes).asked(length + align.saturating_sub(B::ALIGN));
        return Ok(HeldSlice::of_uninit(bytes, extent, align, seed));
    }
    let room: &mut [MaybeUninit<T>] = if form == HostForm::Uninit {
        call!(panics, scope.acquire_uninit | try_acquire_uninit(length))
    } else {
        let dims = asked.dims();
        let array = call!(panics, scope.acquire_uninit | try_acquire_uninit(dims));
        assert_eq!(array.dims(), dims, "an array of another shape than asked for");
        array.into_view()
    };
    assert_eq!(room.len(), asked.count(), "room of another length than asked for");
    let extent = Extent::of(room);
    Ok(HeldSlice::of_uninit(room, extent, alignment::<B, T>(extent), seed))
}

/// Acquires a slice of elements with any method that initializes the elements.
pub(super) fn slice<'s, B: HostBackend, T: HostSample>(
    scope: &Scope<'s, B>,
    asked: &HostAcquire,
    seed: u64,
    watch: &dyn Fn(Moment),
) -> HostResult<&'s mut [T], B> {
    let HostAcquire { form, length, panics, .. } = *asked;
    let element = |index| {
        watch(Moment::Element(index));
        T::host_sample(seed, index)
    };
    let slice = match form {
        HostForm::FixedVec(more) => {
            let capacity = length + more;
            let mut vector =
                call!(panics, scope.acquire_fixed_vec | try_acquire_fixed_vec(capacity));
            vector.try_extend((0..length).map(element)).expect("there is room");
            let full = vector.capacity() == length;
            assert_eq!(vector.push(T::host_sample(seed, 0)).is_err(), full, "of {capacity}");
            vector.truncate(length);
            vector.into_slice()
        }
        HostForm::Vec(capacity) => {
            let vector = call!(panics, scope.acquire_vec | try_acquire_vec(capacity));
            push_all(vector, length, panics, element, watch)?
        }
        HostForm::FromIter => {
            // If the length is even, the iterator has no exact size hint. If the length is odd, the
            // iterator has an exact size hint.
            let mut elements = (0..length).map(element);
            if length % 2 == 0 {
                let elements = std::iter::from_fn(|| elements.next());
                call!(panics, scope.acquire_from_iter | try_acquire_from_iter(elements))
            } else {
                call!(panics, scope.acquire_from_iter | try_acquire_from_iter(elements))
            }
        }
        HostForm::With => call!(panics, scope.acquire_with | try_acquire_with(length, element)),
        _ => array::<B, T>(scope, asked, seed, watch)?.into_view(),
    };
    Ok(slice)
}

/// Acquires an array of elements.
fn array<'s, B: HostBackend, T: HostSample>(
    scope: &Scope<'s, B>,
    asked: &HostAcquire,
    seed: u64,
    watch: &dyn Fn(Moment),
) -> HostResult<HostArray<'s, T, 2>, B> {
    let (dims, panics) = (asked.dims(), asked.panics);
    let element = |[row, column]: [usize; 2]| {
        let index = row * dims[1] + column;
        watch(Moment::Element(index));
        T::host_sample(seed, index)
    };
    let array = call!(panics, scope.acquire_with | try_acquire_with(dims, element));
    assert_eq!(array.dims(), dims, "an array of another shape than asked for");
    Ok(array)
}

/// Pushes elements to a vector and reports the memory that the vector uses while growing.
fn push_all<'s, B: HostBackend, T: HostSample>(
    mut vector: PoolVec<'_, 's, B, T>,
    length: usize,
    panics: bool,
    element: impl Fn(usize) -> T,
    watch: &dyn Fn(Moment),
) -> HostResult<&'s mut [T], B> {
    let written = |place: Extent| {
        let Extent { start, bytes, asked } = place;
        watch(Moment::Written { start, written: bytes, asked });
    };
    let mut place = place_of(&vector);
    for index in 0..length {
        let next = element(index);
        if vector.len() == vector.capacity() {
            // The function reports a write before the push, because a failing push drops the
            // vector.
            written(place);
        }
        let is_first_use = vector.capacity() == 0;
        call!(panics, vector.push | try_push(next));
        let now = place_of(&vector);
        if now.start != place.start && !is_first_use {
            watch(Moment::Moved);
        }
        place = now;
    }
    written(place);
    Ok(vector.into_slice())
}

/// Returns the memory of a vector's elements and the number of bytes that the vector has requested.
fn place_of<B: HostBackend, T: HostSample>(vector: &PoolVec<'_, '_, B, T>) -> Extent {
    let asked = if size_of::<T>() == 0 { 0 } else { vector.capacity() * size_of::<T>() };
    Extent::of(&vector[..]).asked(asked)
}
