//! The element types that the tests use: for each, contents that depend on a seed, and the members
//! of the acquire family that only some elements have.

use std::fmt::Debug;

use pool_core::bytemuck::Pod;
use pool_core::{
    AcquireResult, DynamicPool, Element, Handle, NdArray, PoolBackend, PoolError, Scope, Shape,
};

/// An element with contents to recognise it by.
pub trait Sample: Element + PartialEq + Debug {
    /// Recycled contents may be handed out; the methods below hand them out only for such elements.
    const RECYCLES: bool;

    /// Returns the element at `index` of the content `seed`.
    fn sample(seed: u64, index: usize) -> Self;

    /// Acquires recycled elements, or zeroed ones where recycled contents are no value.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`].
    fn recycle<'s, B: PoolBackend>(
        scope: &Scope<'s, B>,
        length: usize,
    ) -> AcquireResult<'s, B, Self>;

    /// Does the same as [`recycle`](Self::recycle), through the twin that panics.
    fn recycle_or_panic<'s, B: PoolBackend>(
        scope: &Scope<'s, B>,
        length: usize,
    ) -> B::View<'s, Self>;

    /// Does the same as [`recycle`](Self::recycle), with a shape.
    ///
    /// # Errors
    ///
    /// Same as [`Scope::try_acquire`].
    fn recycle_nd<'s, B: PoolBackend, S: Shape>(
        scope: &Scope<'s, B>,
        shape: S,
    ) -> AcquireResult<'s, B, Self, S>;

    /// Does the same as [`recycle_nd`](Self::recycle_nd), through the twin that panics.
    fn recycle_nd_or_panic<'s, B: PoolBackend, S: Shape>(
        scope: &Scope<'s, B>,
        shape: S,
    ) -> NdArray<'s, B, Self, S>;

    /// Does the same as [`recycle`](Self::recycle), in a dynamic pool.
    ///
    /// # Errors
    ///
    /// Same as [`DynamicPool::try_acquire`].
    fn recycle_named<B: PoolBackend>(
        pool: &mut DynamicPool<B>,
        length: usize,
    ) -> Result<Handle<Self>, PoolError<B::Error>>;
}

/// The number of elements of a content that differ, before they begin anew. An interpreter takes a
/// microsecond and more for each: there it is 61, which is no length of a block.
const PERIOD: usize = if cfg!(miri) { 61 } else { isize::MAX as usize };

/// Returns the elements of the content `seed`.
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

/// Returns eight bytes that differ from those of every other seed and place.
fn bytes(seed: u64, index: usize) -> [u8; 8] {
    let place = (index % PERIOD) as u64;
    let mixed = (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(place);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 29)).to_le_bytes()
}

/// The methods of a type whose recycled contents may be handed out.
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

/// The element types by name, for programs that choose one at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `()`, of no size.
    Unit,
    /// `u8`.
    U8,
    /// `bool`, for which some byte patterns are invalid.
    Bool,
    /// `u16`.
    U16,
    /// `f32`.
    F32,
    /// `f64`, a word.
    F64,
    /// `[u8; 3]`, whose size does not divide a word.
    ThreeBytes,
    /// `[f32; 3]`, whose size is no multiple of a word.
    Vector,
    /// `[f64; 3]`, of several whole words.
    Wide,
}

/// Runs code with the type that a [`Kind`] names.
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
