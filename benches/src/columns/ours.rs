//! The pool in its three forms, through its public API.

use pool_facade::prelude::*;

use crate::column::{Address, BenchElement, Column, NestingColumn};

/// A pool of the caller's own.
#[derive(Debug)]
pub struct Explicit(pub Pool<Cpu>);

impl Column for Explicit {
    type Scope<'s> = Scope<'s, Cpu>;
    type Buffer<'s, T: BenchElement> = &'s mut [T];

    fn new() -> Self {
        Self(Pool::new(()))
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut Scope<'_, Cpu>) -> R) -> R {
        body(&mut self.0.scope())
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        scope: &mut Scope<'s, Cpu>,
        _: usize,
        length: usize,
    ) -> &'s mut [T] {
        scope.acquire(length)
    }
}

impl NestingColumn for Explicit {
    #[inline(always)]
    fn nested<R>(scope: &mut Scope<'_, Cpu>, body: impl FnOnce(&mut Scope<'_, Cpu>) -> R) -> R {
        body(&mut scope.scope())
    }
}

/// A pool of the caller's own, whose acquires get the idle block that fits best.
#[derive(Debug)]
pub struct BestFit(Explicit);

impl Column for BestFit {
    type Scope<'s> = Scope<'s, Cpu>;
    type Buffer<'s, T: BenchElement> = &'s mut [T];

    fn new() -> Self {
        let mut column = Explicit::new();
        let configured = column.0.configure(PoolConfig::new().best_fit(true));
        assert!(configured.is_ok(), "the configuration is in range");
        Self(column)
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut Scope<'_, Cpu>) -> R) -> R {
        self.0.scoped(body)
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        scope: &mut Scope<'s, Cpu>,
        position: usize,
        length: usize,
    ) -> &'s mut [T] {
        Explicit::acquire(scope, position, length)
    }
}

/// A pool of the thread, by `with_pool!`.
#[derive(Debug)]
pub struct ThreadLocal;

impl Column for ThreadLocal {
    type Scope<'s> = Scope<'s, Cpu>;
    type Buffer<'s, T: BenchElement> = &'s mut [T];

    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut Scope<'_, Cpu>) -> R) -> R {
        with_pool!(|scope| { body(&mut scope) })
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        scope: &mut Scope<'s, Cpu>,
        _: usize,
        length: usize,
    ) -> &'s mut [T] {
        scope.acquire(length)
    }
}

impl NestingColumn for ThreadLocal {
    /// Through the macro again, as a helper would that is not given the scope.
    #[inline(always)]
    fn nested<R>(_: &mut Scope<'_, Cpu>, body: impl FnOnce(&mut Scope<'_, Cpu>) -> R) -> R {
        with_pool!(|scope| { body(&mut scope) })
    }
}

/// The dynamic pool: a checkpoint, handles, looked up once each, a rewind.
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
