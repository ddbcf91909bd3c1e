//! Descriptions of the acquire calls that a host backend's scopes support.

use super::element::HostKind;

/// A call that acquires elements of any `Copy` type from a host backend's scope.
#[derive(Clone, Debug)]
pub struct HostAcquire {
    /// The element type.
    pub kind: HostKind,
    /// The acquire method to call.
    pub form: HostForm,
    /// The number of elements. An array may contain slightly fewer elements than requested because
    /// it always has three columns.
    pub length: usize,
    /// The code that creates elements also acquires memory in the same scope. The code acquires
    /// memory whenever the next element's index is a multiple of `reenter_at`. The code acquires
    /// nothing if `reenter_at` is `None`, or if it runs in the body of `keep`.
    pub reenter_at: Option<usize>,
    /// The code panics before it creates the element at index `panic_at`. If `panic_at` is `None`,
    /// the code does not panic.
    pub panic_at: Option<usize>,
    /// `true` if the panicking variant of the method is called.
    pub panics: bool,
}

/// An acquire method that is available only in the scopes of host backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostForm {
    /// The `acquire_with` method, called with a length.
    With,
    /// The `acquire_uninit` method, called with a length.
    Uninit,
    /// The `acquire_with` method, called with two axes.
    NdWith,
    /// The `acquire_uninit` method, called with two axes.
    NdUninit,
    /// The `scratch` method, called with a number of bytes and this alignment.
    Scratch(usize),
    /// The `acquire_fixed_vec` method, called with a capacity that leaves room for this number of
    /// additional elements.
    FixedVec(usize),
    /// The `acquire_vec` method, called with this initial capacity.
    Vec(usize),
    /// The `acquire_from_iter` method, called with an iterator.
    FromIter,
}

impl HostForm {
    /// Returns `true` if some elements may remain uninitialized in the memory that the method
    /// returns.
    pub(crate) fn leaves_room(self) -> bool {
        matches!(self, Self::Uninit | Self::NdUninit | Self::Scratch(_))
    }

    /// Returns `true` if the method returns an array.
    pub(crate) fn is_nd(self) -> bool {
        matches!(self, Self::NdWith | Self::NdUninit)
    }
}

impl HostAcquire {
    /// Returns the lengths of the requested array's two axes.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.length / 3, 3]
    }

    /// Returns the number of elements in the acquired slice. For scratch memory, the result is the
    /// number of bytes.
    pub(super) fn count(&self) -> usize {
        if self.form.is_nd() { self.dims().iter().product() } else { self.length }
    }
}
