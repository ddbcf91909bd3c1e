//! The element types used by the tests. Each type generates contents from a seed and provides the
//! acquire methods that only some element types support.

use std::fmt::Debug;

use pool_core::bytemuck::{Pod, cast_slice};
use pool_core::{
    AcquireResult, DynamicPool, Element, Handle, NdArray, PoolBackend, PoolError, Scope, Shape,
};

/// An element type whose contents can be recognized in a test.
pub trait Sample: Element + PartialEq + Debug {
    /// `true` if arrays of this type may have recycled contents. This trait's methods return
    /// recycled contents only if `RECYCLES` is `true`.
    const RECYCLES: bool;

    /// Returns the element at `index` of the contents generated from `seed`.
    fn sample(seed: u64, index: usize) -> Self;

    /// Acquires elements with recycled contents, or zeroed elements if recycled bytes might be
    /// invalid values of this type.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`].
    fn recycle<'s, B: PoolBackend>(
        scope: &Scope<'s, B>,
        length: usize,
    ) -> AcquireResult<'s, B, Self>;

    /// Does the same as [`recycle`](Self::recycle), but panics on failure.
    fn recycle_or_panic<'s, B: PoolBackend>(
        scope: &Scope<'s, B>,
        length: usize,
    ) -> B::View<'s, Self>;

    /// Does the same as [`recycle`](Self::recycle), but gives the acquired elements a shape.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`].
    fn recycle_nd<'s, B: PoolBackend, S: Shape>(
        scope: &Scope<'s, B>,
        shape: S,
    ) -> AcquireResult<'s, B, Self, S>;

    /// Does the same as [`recycle_nd`](Self::recycle_nd), but panics on failure.
    fn recycle_nd_or_panic<'s, B: PoolBackend, S: Shape>(
        scope: &Scope<'s, B>,
        shape: S,
    ) -> NdArray<'s, B, Self, S>;

    /// Does the same as [`recycle`](Self::recycle), but acquires the elements from a dynamic pool.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`DynamicPool::try_acquire`].
    fn recycle_named<B: PoolBackend>(
        pool: &mut DynamicPool<B>,
        length: usize,
    ) -> Result<Handle<Self>, PoolError<B::Error>>;
}

/// The number of elements after which the contents repeat. Under Miri, creating an element takes at
/// least one microsecond, so the contents repeat after 13 elements. No block contains exactly 13
/// elements, so a shift by one block can still be detected.
const PERIOD: usize = if cfg!(miri) { 13 } else { isize::MAX as usize };

/// Returns the first `length` elements of the contents generated from `seed`.
#[must_use]
pub fn samples<T: Sample>(seed: u64, length: usize) -> Vec<T> {
    let period = length.min(PERIOD);
    let mut content: Vec<T> = (0..period).map(|index| T::sample(seed, index)).collect();
    while content.len() < length {
        let more = period.min(length - content.len());
        content.extend_from_within(..more);
    }
    content
}

/// Returns `true` if two slices are equal. The bytes are compared first, because Miri compares them
/// in one step. Elements with different bytes can still be equal.
pub(crate) fn are_equal<T: Sample>(found: &[T], right: &[T]) -> bool {
    cast_slice::<T, u8>(found) == cast_slice::<T, u8>(right) || found == right
}

/// Returns eight bytes that depend on the seed and the index.
fn bytes(seed: u64, index: usize) -> [u8; 8] {
    let place = (index % PERIOD) as u64;
    let mixed = (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(place);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 29)).to_le_bytes()
}

/// Implements the methods of an element type whose memory may be handed out with recycled contents.
macro_rules! recycles {
    () => {
        const RECYCLES: bool = true;

        fn recycle<'s, B: PoolBackend>(
            scope: &Scope<'s, B>,
            length: usize,
        ) -> AcquireResult<'s, B, Self> {
            scope.try_acquire(length)
        }

        fn recycle_or_panic<'s, B: PoolBackend>(
            scope: &Scope<'s, B>,
            length: usize,
        ) -> B::View<'s, Self> {
            scope.acquire(length)
        }

        fn recycle_nd<'s, B: PoolBackend, S: Shape>(
            scope: &Scope<'s, B>,
            shape: S,
        ) -> AcquireResult<'s, B, Self, S> {
            scope.try_acquire(shape)
        }

        fn recycle_nd_or_panic<'s, B: PoolBackend, S: Shape>(
            scope: &Scope<'s, B>,
            shape: S,
        ) -> NdArray<'s, B, Self, S> {
            scope.acquire(shape)
        }

        fn recycle_named<B: PoolBackend>(
            pool: &mut DynamicPool<B>,
            length: usize,
        ) -> Result<Handle<Self>, PoolError<B::Error>> {
            pool.try_acquire(length)
        }
    };
}

impl Sample for () {
    fn sample(_: u64, _: usize) {}
    recycles!();
}

impl Sample for u8 {
    fn sample(seed: u64, index: usize) -> Self {
        bytes(seed, index)[0]
    }
    recycles!();
}

impl Sample for u16 {
    fn sample(seed: u64, index: usize) -> Self {
        let [low, high, ..] = bytes(seed, index);
        Self::from_le_bytes([low, high])
    }
    recycles!();
}

impl Sample for u32 {
    fn sample(seed: u64, index: usize) -> Self {
        let [a, b, c, d, ..] = bytes(seed, index);
        Self::from_le_bytes([a, b, c, d])
    }
    recycles!();
}

impl Sample for u64 {
    fn sample(seed: u64, index: usize) -> Self {
        Self::from_le_bytes(bytes(seed, index))
    }
    recycles!();
}

impl Sample for f32 {
    fn sample(seed: u64, index: usize) -> Self {
        Self::from(u16::sample(seed, index))
    }
    recycles!();
}

impl Sample for f64 {
    fn sample(seed: u64, index: usize) -> Self {
        let [a, b, c, d, ..] = bytes(seed, index);
        Self::from(u32::from_le_bytes([a, b, c, d]))
    }
    recycles!();
}

impl<T: Sample + Pod> Sample for [T; 2] {
    fn sample(seed: u64, index: usize) -> Self {
        [0, 1].map(|part| T::sample(seed, 2 * index + part))
    }
    recycles!();
}

impl<T: Sample + Pod> Sample for [T; 3] {
    fn sample(seed: u64, index: usize) -> Self {
        [0, 1, 2].map(|part| T::sample(seed, 3 * index + part))
    }
    recycles!();
}

impl Sample for bool {
    const RECYCLES: bool = false;

    fn sample(seed: u64, index: usize) -> Self {
        bytes(seed, index)[0] & 1 == 1
    }

    fn recycle<'s, B: PoolBackend>(
        scope: &Scope<'s, B>,
        length: usize,
    ) -> AcquireResult<'s, B, Self> {
        scope.try_acquire_zeroed(length)
    }

    fn recycle_or_panic<'s, B: PoolBackend>(
        scope: &Scope<'s, B>,
        length: usize,
    ) -> B::View<'s, Self> {
        scope.acquire_zeroed(length)
    }

    fn recycle_nd<'s, B: PoolBackend, S: Shape>(
        scope: &Scope<'s, B>,
        shape: S,
    ) -> AcquireResult<'s, B, Self, S> {
        scope.try_acquire_zeroed(shape)
    }

    fn recycle_nd_or_panic<'s, B: PoolBackend, S: Shape>(
        scope: &Scope<'s, B>,
        shape: S,
    ) -> NdArray<'s, B, Self, S> {
        scope.acquire_zeroed(shape)
    }

    fn recycle_named<B: PoolBackend>(
        pool: &mut DynamicPool<B>,
        length: usize,
    ) -> Result<Handle<Self>, PoolError<B::Error>> {
        pool.try_acquire_zeroed(length)
    }
}

/// The names of the element types, for programs that choose a type at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `()`, a type of size 0.
    Unit,
    /// `u8`.
    U8,
    /// `bool`, a type with invalid byte patterns.
    Bool,
    /// `u16`.
    U16,
    /// `f32`.
    F32,
    /// `f64`, which has the size of a word.
    F64,
    /// `[u8; 3]`, whose size does not divide the word size.
    ThreeBytes,
    /// `[f32; 3]`, whose size is not a multiple of the word size.
    Vector,
    /// Runs code with the element type named by a [`Kind`].
    Wide,
}

/// Runs code with the type named by a [`Kind`].
macro_rules! with_kind {
    ($kind:expr, $element:ident => $body:expr) => {
        match $kind {
            $crate::element::Kind::Unit => {
                type $element = ();
                $body
            }
            $crate::element::Kind::U8 => {
                type $element = u8;
                $body
            }
            $crate::element::Kind::Bool => {
                type $element = bool;
                $body
            }
            $crate::element::Kind::U16 => {
                type $element = u16;
                $body
            }
            $crate::element::Kind::F32 => {
                type $element = f32;
                $body
            }
            $crate::element::Kind::F64 => {
                type $element = f64;
                $body
            }
            $crate::element::Kind::ThreeBytes => {
                type $element = [u8; 3];
                $body
            }
            $crate::element::Kind::Vector => {
                type $element = [f32; 3];
                $body
            }
            $crate::element::Kind::Wide => {
                type $element = [f64; 3];
                $body
            }
        }
    };
}
pub(crate) use with_kind;
