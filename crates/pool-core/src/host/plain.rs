//! The test for plain types: types whose values have no uninitialised byte, so that writing them
//! does not mark a slot.
//!
//! Such types implement [`bytemuck::NoUninit`]. A function that is generic over `T: Copy` cannot
//! require that bound, so it tests for the trait at run time with the help of the standard library.
//! [`Iterator::fuse`] does nothing for iterators that implement a certain trait, so its behaviour
//! shows whether an iterator implements that trait. The iterator in this module implements it if
//! `T` is `NoUninit`. The compiler evaluates the test when it knows `T`.

use core::iter::FusedIterator;
use core::marker::PhantomData;

use bytemuck::NoUninit;

/// Returns `true` if `T` is plain. A type without the trait is treated as a type with padding.
///
/// A result of `true` is never wrong. After the first `None`, [`Iterator::fuse`] always returns
/// `None`, unless the iterator is a [`FusedIterator`], which `fuse` passes through. If a later
/// standard library no longer passes it through, plain types would be treated as not plain.
///
/// If only `T` with certain lifetimes is `NoUninit`, the result may also be `true` for other
/// lifetimes. Padding does not depend on lifetimes.
#[inline(always)]
pub(crate) fn is_known_plain<T>() -> bool {
    let mut calls = Calls::<T> { ended: false, of: PhantomData }.fuse();
    calls.next();
    calls.next().is_some()
}

/// An iterator that returns `None` at the first call, and an element at the second.
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
