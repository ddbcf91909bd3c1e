//! The pool in its three forms, using its public API.

use pool_facade::prelude::*;

use crate::column::{Address, BenchElement, Column, NestingColumn};

/// For one backend, a pool that the caller owns and a pool of the thread.
macro_rules! scoped_columns {
    ($backend:ty, $explicit:ident, $thread_local:ident) => {
        /// A pool that the caller owns.
        #[derive(Debug)]
        pub struct $explicit(pub Pool<$backend>);

        impl Column for $explicit {
            type Scope<'s> = Scope<'s, $backend>;
            type Buffer<'s, T: BenchElement> = &'s mut [T];

            fn new() -> Self {
                Self(Pool::new(()))
            }

            #[inline(always)]
            fn scoped<R>(&mut self, body: impl FnOnce(&mut Scope<'_, $backend>) -> R) -> R {
                body(&mut self.0.scope())
            }

            #[inline(always)]
            fn acquire<'s: 's, T: BenchElement>(
                scope: &mut Scope<'s, $backend>,
                _: usize,
                length: usize,
            ) -> &'s mut [T] {
                scope.acquire(length)
            }
        }

        impl NestingColumn for $explicit {
            #[inline(always)]
            fn nested<R>(
                scope: &mut Scope<'_, $backend>,
                body: impl FnOnce(&mut Scope<'_, $backend>) -> R,
            ) -> R {
                body(&mut scope.scope())
            }
        }

        /// A pool of the thread, with `with_pool!`.
        #[derive(Debug)]
        pub struct $thread_local;

        impl Column for $thread_local {
            type Scope<'s> = Scope<'s, $backend>;
            type Buffer<'s, T: BenchElement> = &'s mut [T];

            fn new() -> Self {
                Self
            }

            #[inline(always)]
            fn scoped<R>(&mut self, body: impl FnOnce(&mut Scope<'_, $backend>) -> R) -> R {
                with_pool!($backend, |scope| { body(&mut scope) })
            }

            #[inline(always)]
            fn acquire<'s: 's, T: BenchElement>(
                scope: &mut Scope<'s, $backend>,
                _: usize,
                length: usize,
            ) -> &'s mut [T] {
                scope.acquire(length)
            }
        }

        impl NestingColumn for $thread_local {
            /// This uses the macro again, like a helper that does not receive the scope.
            #[inline(always)]
            fn nested<R>(
                _: &mut Scope<'_, $backend>,
                body: impl FnOnce(&mut Scope<'_, $backend>) -> R,
            ) -> R {
                with_pool!($backend, |scope| { body(&mut scope) })
            }
        }
    };
}

scoped_columns!(Cpu, Explicit, ThreadLocal);
scoped_columns!(Stacked<Cpu>, StackedExplicit, StackedThreadLocal);

/// The dynamic pool: a checkpoint, handles that are looked up once each, and a rewind.
#[derive(Debug)]
pub struct Dynamic(DynamicPool<Cpu>);

impl Column for Dynamic {
    type Scope<'s> = DynamicPool<Cpu>;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self(DynamicPool::new(()))
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut DynamicPool<Cpu>) -> R) -> R {
        self.0.checkpoint();
        let result = body(&mut self.0);
        self.0.rewind();
        result
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        pool: &mut DynamicPool<Cpu>,
        _: usize,
        length: usize,
    ) -> Address {
        let handle = pool.acquire::<T>(length);
        let Ok(view) = pool.get_mut(handle) else { unreachable!("the handle is new") };
        Address(view.as_mut_ptr().cast())
    }
}

impl NestingColumn for Dynamic {
    #[inline(always)]
    fn nested<R>(pool: &mut DynamicPool<Cpu>, body: impl FnOnce(&mut DynamicPool<Cpu>) -> R) -> R {
        pool.checkpoint();
        let result = body(pool);
        pool.rewind();
        result
    }
}
