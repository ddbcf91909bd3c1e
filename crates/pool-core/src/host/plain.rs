//! Whether a type is known to be plain: a type whose values leave no byte uninitialised, so that writing them
//! marks no slot.
//!
//! A function that is generic over `T: Copy` cannot ask whether `T` has padding, or is `NoUninit`. It can
//! compare the identity of `T` with those of types that have none. Whatever else `T` is, it may have padding.

use core::any::TypeId;
use core::marker::PhantomData;
use core::mem;

/// Whether `T` is one of the numbers, a point or colour of them, `bool` or `char`; the compiler knows the answer
/// where it knows `T`.
#[inline(always)]
pub(crate) fn is_known_plain<T>() -> bool {
    let this = identity_of::<T>();
    macro_rules! is_any_of {
        ($($plain:ty),+ $(,)?) => { $(this == TypeId::of::<$plain>())||+ };
    }
    let is_number = is_any_of!(
        u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, bool, char,
    );
    // Points and colours. Of arrays there are too many to name them all.
    let is_number = is_number
        || is_any_of!([f32; 2], [f32; 3], [f32; 4], [f64; 2], [f64; 3], [f64; 4], [u8; 3], [u8; 4]);
    #[cfg(feature = "half")]
    let is_number = is_number || is_any_of!(half::f16, half::bf16);
    #[cfg(feature = "complex")]
    let is_number = is_number || is_any_of!(num_complex::Complex<f32>, num_complex::Complex<f64>);
    is_number
}

/// The identity of `T` with every lifetime in it taken as `'static`. Two types that differ in their lifetimes
/// alone have the same identity; a type without lifetimes shares its identity with no other.
#[inline(always)]
fn identity_of<T>() -> TypeId {
    /// What has an identity once its lifetimes are forgotten.
    trait Identity {
        fn identity(&self) -> TypeId
        where
            Self: 'static;
    }

    impl<T> Identity for PhantomData<T> {
        #[inline(always)]
        fn identity(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }

    let value = PhantomData::<T>;
    let with_lifetimes: &dyn Identity = &value;
    // SAFETY: lifetimes are not there when a program runs: both types are a pointer and a table of methods, and
    // the value is one without data, of which no method reads or returns anything. The reference ends here.
    let without: &(dyn Identity + 'static) = unsafe { mem::transmute(with_lifetimes) };
    without.identity()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    #[allow(dead_code, reason = "only its type is asked about")]
    struct Wrapper(f64);

    #[test]
    fn numbers_are_plain_and_what_may_have_padding_is_not() {
        assert!(is_known_plain::<u8>() && is_known_plain::<f64>() && is_known_plain::<bool>());
        assert!(is_known_plain::<[f64; 3]>() && !is_known_plain::<[f64; 5]>());
        assert!(!is_known_plain::<(u8, u32)>());
        assert!(!is_known_plain::<Option<u8>>());
        assert!(!is_known_plain::<*const u8>());
        assert!(!is_known_plain::<Wrapper>());
        assert!(!is_known_plain::<mem::MaybeUninit<f64>>());
    }

    #[test]
    fn a_reference_has_an_identity_whatever_its_lifetime() {
        fn of_a_local<T>(_: T) -> bool {
            is_known_plain::<T>()
        }
        let local = 3_u8;
        assert!(!of_a_local(&local) && of_a_local(local));
        assert_eq!(identity_of::<&u8>(), TypeId::of::<&'static u8>());
    }
}
