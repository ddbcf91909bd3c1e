//! Slices of host memory that are in use, with elements of any type.

use std::fmt;
use std::mem::{MaybeUninit, size_of_val};

use super::element::{HostSample, host_samples};

/// A slice or a piece of uninitialized memory that is in use, along with its expected contents.
pub(crate) struct HeldSlice<'s> {
    elements: Box<dyn AnySlice + 's>,
    /// The memory that the slice occupied when it was handed out.
    extent: Extent,
    /// The alignment that the start of the slice must have.
    pub(crate) alignment: usize,
    seed: u64,
}

/// The memory that a slice occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The slice's start address.
    pub(crate) start: usize,
    /// The number of bytes in the slice.
    pub(crate) bytes: usize,
    /// The offset from the start of the block to the end of the requested bytes.
    pub(crate) asked: usize,
}

impl Extent {
    /// Returns the memory of a slice that begins at the start of its block.
    pub(super) fn of<T>(slice: &[T]) -> Self {
        let bytes = size_of_val(slice);
        Self { start: slice.as_ptr().addr(), bytes, asked: bytes }
    }

    /// Returns a copy of this value in which the requested bytes end at the offset `asked`.
    pub(super) fn asked(self, asked: usize) -> Self {
        Self { asked, ..self }
    }
}

impl<'s> HeldSlice<'s> {
    /// Stores a slice that was just handed out and fills it with the contents generated from
    /// `seed`.
    pub(super) fn new<T: HostSample>(
        slice: &'s mut [T],
        extent: Extent,
        alignment: usize,
        seed: u64,
    ) -> Self {
        slice.copy_from_slice(&host_samples(seed, slice.len()));
        Self { elements: Box::new(slice), extent, alignment, seed }
    }

    /// Does the same as [`new`](Self::new), but for uninitialized memory in which it writes only
    /// every second element.
    pub(super) fn of_uninit<T: HostSample>(
        memory: &'s mut [MaybeUninit<T>],
        extent: Extent,
        alignment: usize,
        seed: u64,
    ) -> Self {
        let mut memory = HalfWritten(memory);
        memory.rewrite(seed);
        Self { elements: Box::new(memory), extent, alignment, seed }
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns the number of elements in the slice.
    pub(crate) fn length(&self) -> usize {
        self.elements.length()
    }

    /// Compares the slice with its expected contents.
    pub(crate) fn verify(&self) {
        assert_eq!(self.elements.start(), self.extent.start, "a live slice moved");
        self.elements.verify(self.seed);
    }

    /// Writes new contents to the slice.
    pub(crate) fn rewrite(&mut self, seed: u64) {
        self.seed = seed;
        self.elements.rewrite(seed);
    }
}

impl fmt::Debug for HeldSlice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldSlice").field(&self.extent).finish()
    }
}

/// A slice whose element type has been erased.
trait AnySlice {
    fn start(&self) -> usize;
    fn length(&self) -> usize;
    fn verify(&self, seed: u64);
    fn rewrite(&mut self, seed: u64);
}

impl<T: HostSample> AnySlice for &mut [T] {
    fn start(&self) -> usize {
        self.as_ptr().addr()
    }

    fn length(&self) -> usize {
        self.len()
    }

    fn verify(&self, seed: u64) {
        assert!(**self == host_samples(seed, self.len()), "a live slice changed: {self:?}");
    }

    fn rewrite(&mut self, seed: u64) {
        self.copy_from_slice(&host_samples(seed, self.len()));
    }
}

/// Uninitialized memory for elements. After the memory has been written, the elements with even
/// indices are initialized.
struct HalfWritten<'s, T>(&'s mut [MaybeUninit<T>]);

impl<T: HostSample> AnySlice for HalfWritten<'_, T> {
    fn start(&self) -> usize {
        self.0.as_ptr().addr()
    }

    fn length(&self) -> usize {
        self.0.len()
    }

    fn verify(&self, seed: u64) {
        for (index, place) in self.0.iter().enumerate().step_by(2) {
            // SAFETY: `rewrite` initialized all elements with an even index before the memory was
            // stored.
            let found = unsafe { place.assume_init() };
            assert_eq!(found, T::host_sample(seed, index), "live room changed");
        }
    }

    fn rewrite(&mut self, seed: u64) {
        for (index, place) in self.0.iter_mut().enumerate() {
            *place = if index % 2 == 0 {
                MaybeUninit::new(T::host_sample(seed, index))
            } else {
                MaybeUninit::uninit()
            };
        }
    }
}
