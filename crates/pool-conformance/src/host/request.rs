//! The acquire methods that only host scopes provide, as values.

use super::element::HostKind;

/// An acquire of elements of any `Copy` type from a host scope.
#[derive(Clone, Debug)]
pub struct HostAcquire {
    /// The element type.
    pub kind: HostKind,
    /// The method that is called.
    pub form: HostForm,
    /// The number of elements. Arrays have slightly fewer, so that they have three columns.
    pub length: usize,
    /// Code that creates elements acquires in the same scope before each index that is a multiple
    /// of this number; `None` means never. In a body of `keep`, the code does not acquire.
    pub reenter_at: Option<usize>,
    /// The index before which code that creates elements panics; `None` means never.
    pub panic_at: Option<usize>,
    /// `true` to call the variant that panics.
    pub panics: bool,
}

/// An acquire method of host scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostForm {
    /// `acquire_with`, with a length.
    With,
    /// `acquire_uninit`, with a length.
    Uninit,
    /// `acquire_with`, with two axes.
    NdWith,
    /// `acquire_uninit`, with two axes.
    NdUninit,
    /// `scratch`, with a number of bytes and this alignment.
    Scratch(usize),
    /// `acquire_fixed_vec`, with room for this number of further elements.
    FixedVec(usize),
    /// `acquire_vec`, with this initial capacity.
    Vec(usize),
    /// `acquire_from_iter`.
    FromIter,
}

impl HostForm {
    /// Returns `true` if elements may be left uninitialised: the result is room rather than a
    /// slice.
    pub(crate) fn leaves_room(self) -> bool {
        matches!(self, Self::Uninit | Self::NdUninit | Self::Scratch(_))
    }

    /// Returns `true` if the result is an array.
    pub(crate) fn is_nd(self) -> bool {
        matches!(self, Self::NdWith | Self::NdUninit)
    }
}

impl HostAcquire {
    /// Returns the lengths of the requested array's axes.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.length / 3, 3]
    }

    /// Returns the number of elements of the result, or of bytes for scratch memory.
    pub(super) fn count(&self) -> usize {
        if self.form.is_nd() { self.dims().iter().product() } else { self.length }
    }
}
