//! The element types used to test the host's acquire methods. Some types are known to be plain
//! data. Other types contain padding or pointers, or do not accept every byte pattern. Writing
//! elements of these types marks the slot as possibly uninitialized. Each element type generates
//! contents from a seed.

use std::fmt::Debug;

use crate::element::Sample;

/// An element of any `Copy` type, with contents that can be recognized in a test.
pub(crate) trait HostSample: Copy + PartialEq + Debug + 'static {
    /// `true` if writing elements of this type marks their slot as possibly uninitialized.
    const MARKS: bool;

    /// Returns the element at `index` of the contents generated from `seed`.
    fn host_sample(seed: u64, index: usize) -> Self;
}

/// Returns the first `length` elements of the contents generated from `seed`.
pub(crate) fn host_samples<T: HostSample>(seed: u64, length: usize) -> Vec<T> {
    (0..length).map(|index| T::host_sample(seed, index)).collect()
}

/// The names of the element types, for programs that choose a type at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// `()`, a type of size 0.
    Unit,
    /// `u8`, which is plain data.
    Byte,
    /// `f64`, which is plain data.
    Number,
    /// `[f32; 3]`, which is plain data.
    Point,
    /// `(u8, u64)`, with seven bytes of padding.
    Pair,
    /// `Option<u16>`, with one byte of padding. For `None`, two more bytes are padding.
    Optional,
    /// `&'static str`, which consists of a pointer and a length.
    Text,
}

/// Runs code with the element type named by a [`HostKind`].
macro_rules! with_host_kind {
    ($kind:expr, $element:ident => $body:expr) => {
        match $kind {
            $crate::host::HostKind::Unit => {
                type $element = ();
                $body
            }
            $crate::host::HostKind::Byte => {
                type $element = u8;
                $body
            }
            $crate::host::HostKind::Number => {
                type $element = f64;
                $body
            }
            $crate::host::HostKind::Point => {
                type $element = [f32; 3];
                $body
            }
            $crate::host::HostKind::Pair => {
                type $element = (u8, u64);
                $body
            }
            $crate::host::HostKind::Optional => {
                type $element = Option<u16>;
                $body
            }
            $crate::host::HostKind::Text => {
                type $element = &'static str;
                $body
            }
        }
    };
}
pub(super) use with_host_kind;

impl HostKind {
    /// Returns `true` if writing elements of this type marks their slot as possibly uninitialized.
    #[must_use]
    pub fn marks(self) -> bool {
        with_host_kind!(self, Element => Element::MARKS)
    }
}

/// Implements `HostSample` for types that are known to be plain data.
macro_rules! plain {
    ($($plain:ty),+) => {
        $(impl HostSample for $plain {
            const MARKS: bool = false;

            fn host_sample(seed: u64, index: usize) -> Self {
                Self::sample(seed, index)
            }
        })+
    };
}

plain!((), u8, f64, [f32; 3]);

// All bytes except the padding are nonzero. Bytes that should have been zeroed are therefore
// detected even without Miri.

impl HostSample for (u8, u64) {
    const MARKS: bool = true;

    fn host_sample(seed: u64, index: usize) -> Self {
        (u8::sample(seed, index) | 1, u64::sample(seed, index) | 0x0101_0101_0101_0101)
    }
}

impl HostSample for Option<u16> {
    const MARKS: bool = true;

    fn host_sample(seed: u64, index: usize) -> Self {
        let number = u16::sample(seed, index);
        (number % 4 != 0).then_some(number | 0x0101)
    }
}

impl HostSample for &'static str {
    const MARKS: bool = true;

    fn host_sample(seed: u64, index: usize) -> Self {
        const WORDS: [&str; 5] = ["a", "few", "words", "of", "different lengths"];
        WORDS[usize::from(u16::sample(seed, index)) % WORDS.len()]
    }
}
