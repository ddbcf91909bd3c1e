//! Tests whether a type's values can contain uninitialized bytes. The values of plain types contain
//! no uninitialized bytes. Writing values of a plain type does not mark a slot.
//!
//! Plain types implement [`bytemuck::NoUninit`]. A function that is generic over `T: Copy` cannot
//! require the `NoUninit` bound. This module therefore uses the standard library to test for the
//! trait at run time. [`Iterator::fuse`] has no effect on an iterator that implements
//! `FusedIterator`. The behavior of `fuse` therefore shows whether an iterator implements that
//! trait. The iterator in this module implements `FusedIterator` if `T` implements `NoUninit`. The
//! optimizer reduces this test to a constant for each `T`.

use core::iter::FusedIterator;
use core::marker::PhantomData;

use bytemuck::NoUninit;

/// Returns `true` if `T` is plain. A type that does not implement `NoUninit` is treated as a type
/// with padding.
///
/// If the function returns `true`, the type is guaranteed to be plain. After the first `None`, an
/// iterator from [`Iterator::fuse`] returns only `None`. However, `fuse` does not change an
/// iterator that is a [`FusedIterator`]. If a later version of the standard library also changes
/// fused iterators, plain types will be treated as types with padding.
///
/// If `T` implements `NoUninit` only for certain lifetimes, the function might also return `true`
/// for other lifetimes. The result is still correct, because padding does not depend on lifetimes.
#[inline(always)]
pub(crate) fn is_known_plain<T>() -> bool {
    let mut calls = Calls::<T> { ended: false, of: PhantomData }.fuse();
    calls.next();
    calls.next().is_some()
}

/// An iterator that returns `None` from the first call to `next` and an element from the second
/// call.
struct Calls<T> {
    ended: bool,
    of: PhantomData<T>,
}

impl<T> Iterator for Calls<T> {
    type Item = ();

    #[inline(always)]
    fn next(&mut self) -> Option<()> {
        if self.ended {
            return Some(());
        }
        self.ended = true;
        None
    }
}

impl<T: NoUninit> FusedIterator for Calls<T> {}

#[cfg(test)]
mod tests {
    use core::mem::MaybeUninit;

    use super::*;

    #[derive(Clone, Copy)]
    #[allow(dead_code, reason = "only its type is used")]
    struct Wrapper(f64);

    #[derive(Clone, Copy, bytemuck::NoUninit)]
    #[repr(C)]
    #[allow(dead_code, reason = "only its type is used")]
    struct Particle {
        position: [f64; 3],
        kind: u32,
        is_fixed: bool,
        padding: [u8; 3],
    }

    #[test]
    fn plain_data_is_plain_and_what_may_have_padding_is_not() {
        assert!(is_known_plain::<u8>() && is_known_plain::<f64>() && is_known_plain::<bool>());
        assert!(is_known_plain::<char>() && is_known_plain::<[f64; 5]>());
        assert!(is_known_plain::<Particle>() && !is_known_plain::<[Wrapper; 2]>());
        assert!(!is_known_plain::<(u8, u32)>());
        assert!(!is_known_plain::<Option<u8>>());
        assert!(!is_known_plain::<*const u8>());
        assert!(!is_known_plain::<Wrapper>());
        assert!(!is_known_plain::<MaybeUninit<f64>>());
        #[cfg(feature = "half")]
        assert!(is_known_plain::<half::f16>() && is_known_plain::<half::bf16>());
        #[cfg(feature = "complex")]
        assert!(is_known_plain::<num_complex::Complex<f32>>());
    }

    #[test]
    fn a_reference_is_not_plain_whatever_its_lifetime() {
        fn of_a_local<T>(_: T) -> bool {
            is_known_plain::<T>()
        }
        let local = 3_u8;
        assert!(!of_a_local(&local) && of_a_local(local));
    }
}
