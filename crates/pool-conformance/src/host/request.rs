//! The forms of the acquire family that only scopes of the host have, as values.

use super::element::HostKind;

/// An acquire of elements of any type that is `Copy`, from a scope of the host.
#[derive(Clone, Debug)]
pub struct HostAcquire {
    /// The element type.
    pub kind: HostKind,
    /// The member of the family that is called.
    pub form: HostForm,
    /// The number of elements; arrays have a few less, so that they have three columns.
    pub length: usize,
    /// The divisor of the indices before which the code that makes elements acquires in the same
    /// scope; `None` for never. In a body of `keep` the code does not acquire.
    pub reenter_at: Option<usize>,
    /// The index before which code that makes elements panics; `None` for none.
    pub panic_at: Option<usize>,
    /// The twin that panics is called.
    pub panics: bool,
}

/// The member of the host's family that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostForm {
    /// `acquire_with`, of a length.
    With,
    /// `acquire_uninit`, of a length.
    Uninit,
    /// `acquire_with`, of two axes.
    NdWith,
    /// `acquire_uninit`, of two axes.
    NdUninit,
    /// `scratch`, of bytes, with this alignment.
    Scratch(usize),
    /// `acquire_fixed_vec`, with room for this number of further elements.
    FixedVec(usize),
    /// `acquire_vec`, with this capacity to begin with.
    Vec(usize),
    /// `acquire_from_iter`.
    FromIter,
}

impl HostForm {
    /// Returns `true` if elements are left without a value: the result is room, and no slice.
    pub(crate) fn leaves_room(self) -> bool {
        matches!(self, Self::Uninit | Self::NdUninit | Self::Scratch(_))
    }

    /// Returns `true` if the result is an array.
    pub(crate) fn is_nd(self) -> bool {
        matches!(self, Self::NdWith | Self::NdUninit)
    }
}

impl HostAcquire {
    /// Returns the lengths of the requested array.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.length / 3, 3]
    }

    /// Returns the number of elements of the result; bytes for scratch memory.
    pub(super) fn count(&self) -> usize {
        if self.form.is_nd() { self.dims().iter().product() } else { self.length }
    }
}
