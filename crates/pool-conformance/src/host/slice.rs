//! A live slice of the host, of any elements.

use std::fmt;
use std::mem::{MaybeUninit, size_of_val};

use super::element::{HostSample, host_samples};

/// A live slice, or live room, with the content that it should have.
pub(crate) struct HeldSlice<'s> {
    elements: Box<dyn AnySlice + 's>,
    /// The place of the slice when it was handed out.
    extent: Extent,
    /// The start should be a multiple of this.
    pub(crate) alignment: usize,
    seed: u64,
}

/// The memory of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The address at which the slice starts.
    pub(crate) start: usize,
    /// The bytes of the slice.
    pub(crate) bytes: usize,
    /// The bytes from the start of the block on that the acquire requested.
    pub(crate) asked: usize,
}

impl Extent {
    /// Returns the memory of a slice that starts where its block does.
    pub(super) fn of<T>(slice: &[T]) -> Self {
        let bytes = size_of_val(slice);
        Self { start: slice.as_ptr().addr(), bytes, asked: bytes }
    }

    /// Returns the same memory, for an acquire that requested more bytes.
    pub(super) fn asked(self, asked: usize) -> Self {
        Self { asked, ..self }
    }
}

impl<'s> HeldSlice<'s> {
    /// Takes a slice that was just handed out, at a multiple of `alignment`. Writes the content
    /// `seed` into it.
    pub(super) fn new<T: HostSample>(
        slice: &'s mut [T],
        extent: Extent,
        alignment: usize,
        seed: u64,
    ) -> Self {
        slice.copy_from_slice(&host_samples(seed, slice.len()));
        Self { elements: Box::new(slice), extent, alignment, seed }
    }

    /// Does as [`new`](Self::new), for room: every second element gets a value.
    pub(super) fn of_room<T: HostSample>(
        room: &'s mut [MaybeUninit<T>],
        extent: Extent,
        alignment: usize,
        seed: u64,
    ) -> Self {
        let mut room = Room(room);
        room.rewrite(seed);
        Self { elements: Box::new(room), extent, alignment, seed }
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns the number of elements.
    pub(crate) fn length(&self) -> usize {
        self.elements.length()
    }

    /// Compares the slice with the content that it should have.
    pub(crate) fn verify(&self) {
        assert_eq!(self.elements.start(), self.extent.start, "a live slice moved");
        self.elements.verify(self.seed);
    }

    /// Writes a new content.
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

/// Elements of some type.
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

/// Room whose elements with an even index have a value, once it was written to.
struct Room<'s, T>(&'s mut [MaybeUninit<T>]);

impl<T: HostSample> AnySlice for Room<'_, T> {
    fn start(&self) -> usize {
        self.0.as_ptr().addr()
    }

    fn length(&self) -> usize {
        self.0.len()
    }

    fn verify(&self, seed: u64) {
        for (index, place) in self.0.iter().enumerate().step_by(2) {
            // SAFETY: `rewrite` was called before the room was held, and gave all of these a value.
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
