//! Names of backends, scopes and variables: in every form of the macro, and without shadowing
//! others by mistake.

use pool_facade::LocalPool;
use pool_facade::prelude::*;

use super::{idle_pools, returns_its_pool};

/// A backend named by a path.
mod backends {
    pub(super) use pool_facade::Cpu as Host;
}

/// A backend named through another type.
trait HasBackend {
    type Backend: LocalPool;
}

struct Solver;

impl HasBackend for Solver {
    type Backend = Cpu;
}

#[test]
fn the_backend_in_every_form() {
    fn generic<B: LocalPool>(n: usize) -> usize {
        with_pool!(B, |scope| {
            let view = scope.acquire_zeroed::<f32, _>(n);
            PoolView::len(&view) + scope.active_slots()
        })
    }
    fn associated<S: HasBackend>() -> usize {
        with_pool!(S::Backend, |scope| {
            scope.acquire_zeroed::<u8, _>(1);
            scope.active_slots()
        })
    }
    fn generic_result<B: LocalPool>() -> Result<usize, PoolError<B::Error>> {
        try_with_pool!(B, |scope| {
            scope.try_acquire_zeroed::<u8, _>(2)?;
            scope.active_slots()
        })
    }
    let values = returns_its_pool(|| {
        [
            with_pool!(Cpu, |scope| { scope.acquire_zeroed::<u8, _>(1).len() }),
            with_pool!(Cpu, |scope| scope.acquire_zeroed::<u8, _>(2).len()),
            with_pool!(backends::Host, |scope| { scope.acquire_zeroed::<u8, _>(3).len() }),
            with_pool!(<Solver as HasBackend>::Backend, |scope| {
                scope.acquire_zeroed::<u8, _>(4).len()
            }),
            with_pool!(Cpu, |scope| { scope.acquire_zeroed::<u8, _>(5).len() }),
            generic::<Cpu>(6),
            associated::<Solver>(),
            generic_result::<Cpu>().unwrap(),
            try_with_pool!(Cpu, |scope| { scope.acquire_zeroed::<u8, _>(9).len() }).unwrap(),
        ]
    });
    assert_eq!(values, [1, 2, 3, 4, 5, 7, 1, 1, 9]);
}

#[test]
fn several_pools_in_one_macro() {
    let (sum, tried, pools) = std::thread::spawn(|| {
        let sum = with_pool!(Cpu, Cpu, Cpu, |left, mut_free, right| {
            let (a, b) = (left.acquire_filled(2, 1_u64), right.acquire_filled(2, 2_u64));
            a.iter().chain(b.iter()).sum::<u64>() + mut_free.active_slots() as u64
        });
        let tried = try_with_pool!(Cpu, Cpu, |left, right| {
            right.try_acquire_from(left.try_acquire_filled(3, 5_u64).unwrap()).unwrap().len()
        });
        with_pool!(Cpu, Cpu, |_left, _right| {});
        (sum, tried, idle_pools())
    })
    .join()
    .unwrap();
    assert_eq!((sum, tried, pools), (6, Ok(3), 3));
}

#[test]
fn names_inside_the_macro_are_its_own() {
    returns_its_pool(|| {
        let (guard, result, value, error) = (1, 2, 3, 4);
        let sum = with_pool!(|scope| {
            let result = result + scope.active_slots();
            guard + result + value + error
        });
        let tried = try_with_pool!(|result| { guard + value + error + result.active_slots() });
        let shadowed = with_pool!(|guard| { guard.acquire_filled(2, 9_usize)[1] });
        assert_eq!((sum, tried, shadowed), (10, Ok(8), 9));
        assert_eq!((guard, result), (1, 2));
    });
}

/// A module in which the names that a macro could mean by mistake are others.
mod shadowing {
    #[derive(Debug, PartialEq)]
    pub(super) enum Result {
        Ok(usize),
        Err,
    }
    pub(super) use self::Result::{Err, Ok};

    mod core {}

    pub(super) fn local() -> Result {
        let tried = pool_facade::try_with_pool!(pool_facade::Cpu, |scope| {
            scope.acquire_zeroed::<u8, _>(3).len()
        });
        let length =
            pool_facade::with_pool!(|scope| { tried.map_or(0, |n| n + scope.active_slots()) });
        if length == 3 { Ok(length) } else { Err }
    }
}

#[test]
fn names_outside_the_macro_are_not_the_macros() {
    returns_its_pool(|| {
        assert_eq!(shadowing::local(), shadowing::Ok(3));
        assert_ne!(shadowing::local(), shadowing::Err);
    });
}

/// A trait of the caller's, with a method of the name that the macros call, for every type and by value.
mod extension {
    use pool_facade::prelude::*;

    #[expect(dead_code, reason = "that nothing calls it is what is tested")]
    pub(super) trait Scoped: Sized {
        fn scope(self) -> Scope<'static, Cpu> {
            Box::leak(Box::new(local::<Cpu>())).scope()
        }
    }

    impl<T> Scoped for T {}
}

#[test]
fn m1_a_trait_of_the_callers_does_not_take_over() {
    #[expect(unused_imports, reason = "in scope, where the macro would find it")]
    use extension::Scoped;
    returns_its_pool(|| {
        with_pool!(|scope| { scope.acquire_filled(1, 1_u8)[0] });
        let second = try_with_pool!(Cpu, |scope| { scope.acquire_filled(1, 2_u8)[0] });
        assert_eq!(second, Ok(2));
    });
}

/// A variable of a macro cannot shadow a static: with a static of its name in scope, the macro would not compile.
#[allow(non_upper_case_globals, reason = "names of variables that a macro might have")]
mod callers_names {
    use super::*;

    static guard: usize = 1;
    static result: usize = 2;
    static value: usize = 3;
    static error: usize = 4;

    /// A macro of this name is not the compiler's.
    #[allow(unused_macros, reason = "that it is not used is what is tested")]
    macro_rules! compile_error {
        ($($text:tt)*) => {};
    }

    #[test]
    fn the_callers_names_are_the_callers_in_a_body() {
        let sum = returns_its_pool(|| {
            let first = with_pool!(|scope| { scope.active_slots() + guard + result });
            let second = try_with_pool!(Cpu, |scope| { scope.active_slots() + value + error });
            first + second.unwrap()
        });
        assert_eq!(sum, 10);
    }
}
