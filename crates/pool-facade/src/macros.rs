//! Defines the `with_pool!` and `try_with_pool!` macros, which open scopes in the current thread's
//! pools. The `local_pools!` macro provides thread-local pools for a backend.

/// Runs a block with a scope in one of the current thread's pools. The macro evaluates to the
/// block's value.
///
/// ```
/// # #[cfg(feature = "cpu")] {
/// use pool_facade::prelude::*;
///
/// let sum = with_pool!(|scope| {
///     let x = scope.acquire_filled(100, 2.0_f64);
///     x.iter().sum::<f64>()
/// });
/// assert_eq!(sum, 200.0);
///
/// // The backend by name, also as a type parameter; several pools at once.
/// fn zeros<B: pool_facade::LocalPool>(n: usize) -> usize {
///     with_pool!(B, |scope| { scope.acquire_zeroed::<u8, _>(n); scope.active_slots() })
/// }
/// assert_eq!(zeros::<Cpu>(3), 1);
/// with_pool!(Cpu, Cpu, |left, right| {
///     left.acquire_zeroed::<u8, _>(1)[0] = right.acquire_zeroed::<u8, _>(1)[0];
/// });
/// # }
/// ```
///
/// `|scope| { … }` looks like a closure to rustfmt, but it is a block of the enclosing function.
/// Inside the block, `return`, `?`, labeled `break`, and `.await` work as usual, and panics
/// propagate. The pool is returned to its thread's list on every exit from the block. The `?`
/// operator returns from the enclosing function, not from the macro. Views and scopes cannot leave
/// the `with_pool!` block.
///
/// If one `with_pool!` block contains another, the two blocks use separate pools. With the slot
/// layout, the inner block's pool has its own memory. To avoid creating a second pool, pass the
/// outer scope to helper functions as an argument. With the stack layout, an inner
/// `with_pool!(Stacked<Cpu>, …)` borrows the unused remainder of the outer block's chunk. If an
/// inner pool borrows memory, it holds none of its own.
///
/// # Panics
///
/// Panics with the error that [`try_with_pool!`](crate::try_with_pool) returns if the pool cannot
/// be created.
///
/// # What does not compile
///
/// The compiler rejects each of the following programs. The
/// [`compiler_errors`](crate::compiler_errors) page explains how to fix these programs.
///
/// ```compile_fail,E0716
/// # use pool_facade::prelude::*;
/// let view = with_pool!(|scope| { scope.acquire::<u8, _>(1) }); // a view as the block's value
/// view[0] = 1;
/// ```
///
/// ```compile_fail,E0716
/// # use pool_facade::prelude::*;
/// let kept: &mut [u8];
/// with_pool!(|scope| { kept = scope.acquire::<u8, _>(1); }); // a view assigned outside
/// kept[0] = 1;
/// ```
///
/// ```compile_fail,E0716
/// # use pool_facade::prelude::*;
/// let kept = with_pool!(|scope| { scope }); // the scope itself
/// kept.active_slots();
/// ```
///
/// ```compile_fail,E0515
/// # use pool_facade::prelude::*;
/// fn escape<'a>() -> &'a mut [u8] {
///     with_pool!(|scope| { return scope.acquire::<u8, _>(1); }) // a view returned
/// }
/// ```
///
/// ```compile_fail,E0425
/// # use pool_facade::prelude::*;
/// with_pool!(|scope| { drop(__pool_guard); scope.active_slots() }); // macro_guard_not_nameable
/// ```
///
/// ```compile_fail,E0133
/// # use pool_facade::prelude::*;
/// unsafe fn careful() {}
/// with_pool!(|scope| { careful(); scope.active_slots() }); // macro_body_not_unsafe
/// ```
///
/// ```compile_fail
/// # use pool_facade::prelude::*;
/// with_pool!(|mut scope| { scope.active_slots() }); // macro_scope_is_mutable_already
/// ```
///
/// ```compile_fail
/// # use pool_facade::prelude::*;
/// fn is_send<T: Send>(_: T) {}
/// is_send(async { // with_pool_future_not_send
///     with_pool!(|scope| { std::future::ready(()).await; scope.active_slots() })
/// });
/// ```
#[macro_export]
macro_rules! with_pool {
    (|$scope:ident| $body:block $(,)?) => {
        $crate::with_pool!($crate::Cpu, |$scope| $body)
    };
    (|$scope:ident| $value:expr $(,)?) => {
        $crate::with_pool!($crate::Cpu, |$scope| { $value })
    };
    ($($backend:ty),+, |$($scope:ident),+| $body:block $(,)?) => {{
        $(
            let mut __pool_guard = $crate::local::<$backend>();
            #[allow(unused_mut, unused_variables)]
            let mut $scope = $crate::LocalGuard::scope(&mut __pool_guard);
        )+
        // Without the statement before the body, clippy would warn about `let … = …` if the body
        // ended in `return` or `break`. The caller's lints stay enabled in the body.
        let __pool_result = {
            let () = ();
            $body
        };
        // The body may end in `return` or `break`.
        #[allow(unreachable_code)]
        {
            __pool_result
        }
    }};
    ($($backend:ty),+, |$($scope:ident),+| $value:expr $(,)?) => {
        $crate::with_pool!($($backend),+, |$($scope),+| { $value })
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "write `with_pool!(|scope| { … })`, `with_pool!(Backend, |scope| { … })` or \
             `with_pool!(A, B, |a, b| { … })`; a scope is mutable without `mut`"
        )
    };
}

/// Runs a block like [`with_pool!`], but evaluates to a `Result` with the block's value, or an
/// error if the pool cannot be created.
///
/// ```
/// # #[cfg(feature = "cpu")] {
/// use pool_facade::prelude::*;
///
/// let sum = try_with_pool!(Cpu, |scope| {
///     scope.acquire_filled(10, 1.0_f32).iter().sum::<f32>()
/// });
/// assert_eq!(sum?, 10.0);
/// # }
/// # Ok::<(), pool_facade::PoolError<pool_facade::CpuError>>(())
/// ```
///
/// If `try_with_pool!` opens scopes in several pools, their backends must have the same error type.
/// The macro evaluates to the error of the first pool that it cannot create.
#[macro_export]
macro_rules! try_with_pool {
    (|$scope:ident| $body:block $(,)?) => {
        $crate::try_with_pool!($crate::Cpu, |$scope| $body)
    };
    (|$scope:ident| $value:expr $(,)?) => {
        $crate::try_with_pool!($crate::Cpu, |$scope| { $value })
    };
    ($($backend:ty),+, |$($scope:ident),+| $body:block $(,)?) => {
        // The body is outside the labeled block, because the compiler would reject an unlabeled
        // `break` inside it.
        match '__pool_guards: {
            ::core::result::Result::Ok(($(
                match $crate::try_local::<$backend>() {
                    ::core::result::Result::Ok(__pool_guard) => __pool_guard,
                    ::core::result::Result::Err(__pool_error) => {
                        break '__pool_guards ::core::result::Result::Err(__pool_error)
                    }
                },
            )+))
        } {
            ::core::result::Result::Ok(($(mut $scope,)+)) => {
                // Each scope shadows its guard, so the body cannot use the guard.
                $(
                    #[allow(unused_mut, unused_variables)]
                    let mut $scope = $crate::LocalGuard::scope(&mut $scope);
                )+
                // As in `with_pool!`, the statement before the body prevents a clippy warning about
                // `let … = …`.
                let __pool_value = {
                    let () = ();
                    $body
                };
                #[allow(unreachable_code)]
                {
                    ::core::result::Result::Ok(__pool_value)
                }
            }
            ::core::result::Result::Err(__pool_error) => ::core::result::Result::Err(__pool_error),
        }
    };
    ($($backend:ty),+, |$($scope:ident),+| $value:expr $(,)?) => {
        $crate::try_with_pool!($($backend),+, |$($scope),+| { $value })
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "write `try_with_pool!(|scope| { … })`, `try_with_pool!(Backend, |scope| { … })` or \
             `try_with_pool!(A, B, |a, b| { … })`; a scope is mutable without `mut`"
        )
    };
}

/// Implements thread-local pools for a backend in its own crate. The macro makes [`with_pool!`],
/// [`try_with_pool!`], and [`local()`](crate::local()) usable with the backend.
///
/// The `context` argument creates a new pool's context. `context` must be a function without
/// arguments that returns `Result<Context, Error>`. The optional `is_for_thread` argument is
/// intended for backends whose threads can choose between several devices. `is_for_thread` receives
/// the context of an idle pool and returns `true` if the calling thread may currently use the pool.
///
/// ```text
/// pool_facade::local_pools! {
///     Pages, context: || Ok(())
/// }
/// ```
///
/// The repository's `10_own_backend` example contains a complete backend with thread-local pools.
///
/// The backend must be a type without parameters. Each backend needs its own thread-local variable,
/// because such a variable cannot be generic.
#[macro_export]
macro_rules! local_pools {
    ($backend:ty, context: $context:expr $(, is_for_thread: $is_for_thread:expr)? $(,)?) => {
        $crate::local_pools!(@ $backend, $context, { $(
            fn is_for_thread(__pool_context: &<Self as $crate::PoolBackend>::Context) -> bool {
                let __pool_answer: fn(&<Self as $crate::PoolBackend>::Context) -> bool =
                    $is_for_thread;
                __pool_answer(__pool_context)
            }
        )? });
    };
    // This macro rule also accepts additional items for the trait implementation. Each static is
    // declared inside the function that uses it, so that the caller's expressions cannot refer to
    // the macro's names.
    (@ $backend:ty, $context:expr, { $($item:item)* }) => {
        impl $crate::LocalPool for $backend {
            #[inline]
            fn with_idle_pools<__PoolR>(
                __pool_f: impl ::core::ops::FnOnce(&$crate::IdlePools<Self>) -> __PoolR,
            ) -> __PoolR {
                ::std::thread_local! {
                    static __POOL_IDLE: $crate::IdlePools<$backend> =
                        const { $crate::IdlePools::new() };
                }
                __POOL_IDLE.with(__pool_f)
            }

            fn with_closer(
                __pool_f: impl ::core::ops::FnOnce(&$crate::IdlePoolsCloser<Self>),
            ) {
                ::std::thread_local! {
                    static __POOL_CLOSER: $crate::IdlePoolsCloser<$backend> =
                        const { $crate::IdlePoolsCloser::new() };
                }
                let _ = __POOL_CLOSER.try_with(__pool_f);
            }

            fn thread_context() -> ::core::result::Result<
                <Self as $crate::PoolBackend>::Context,
                <Self as $crate::PoolBackend>::Error,
            > {
                ($context)()
            }

            $($item)*
        }
    };
}
