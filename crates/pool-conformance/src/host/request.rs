//! The forms of the acquire family that only scopes of the host have, as values.

use super::element::HostKind;

/// An acquire of elements of any type that is `Copy`, from a scope of the host.
#[derive(Clone, Debug)]
pub struct HostAcquire {
    /// The element type.
    pub kind: HostKind,
    /// Which member of the family is called.
    pub form: HostForm,
    /// For how many elements; arrays have a few less, so that they have three columns.
    pub length: usize,
    /// Code that makes elements acquires in the same scope before those whose index is a multiple of this and one;
    /// `None` for never. In a body of `keep` it does not.
    pub reenter_at: Option<usize>,
    /// The index before which code that makes elements panics; `None` for none.
    pub panic_at: Option<usize>,
    /// Whether the twin is called that panics.
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
    /// `acquire_fixed_vec`, with room for so many elements more.
    FixedVec(usize),
    /// `acquire_vec`, with this capacity to begin with.
    Vec(usize),
    /// `acquire_from_iter`.
    FromIter,
}

impl HostForm {
    /// Whether elements are left without a value: the answer is room, and no slice.
    pub(crate) fn leaves_room(self) -> bool {
        matches!(self, Self::Uninit | Self::NdUninit | Self::Scratch(_))
    }

    /// Whether the answer is an array.
    pub(crate) fn is_nd(self) -> bool {
        matches!(self, Self::NdWith | Self::NdUninit)
    }
}

impl HostAcquire {
    /// The lengths of the array that is asked for.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.length / 3, 3]
    }

    /// How many elements the answer has; bytes for scratch memory.
    pub(super) fn count(&self) -> usize {
        if self.form.is_nd() { self.dims().iter().product() } else { self.length }
    }
}
