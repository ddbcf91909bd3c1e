//! The published algorithm of AdaptiveArrayPools as a column, with full and with typed checkpoints.

use std::marker::PhantomData;

use crate::column::{Address, BenchElement, Column, NestingColumn};
use crate::published::{AdaptivePool, TypeList};

/// Each checkpoint saves the counters of all types.
#[derive(Debug)]
pub struct FullCheckpoint(AdaptivePool);

impl Column for FullCheckpoint {
    type Scope<'s> = AdaptivePool;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self(AdaptivePool::default())
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut AdaptivePool) -> R) -> R {
        self.0.checkpoint();
        let result = body(&mut self.0);
        self.0.rewind();
        result
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        pool: &mut AdaptivePool,
        _: usize,
        length: usize,
    ) -> Address {
        Address(pool.acquire::<T>(length).as_mut_ptr().cast())
    }
}

impl NestingColumn for FullCheckpoint {
    #[inline(always)]
    fn nested<R>(pool: &mut AdaptivePool, body: impl FnOnce(&mut AdaptivePool) -> R) -> R {
        pool.checkpoint();
        let result = body(pool);
        pool.rewind();
        result
    }
}

/// Each checkpoint saves the counters of the listed types.
#[derive(Debug)]
pub struct TypedCheckpoint<L> {
    pool: AdaptivePool,
    types: PhantomData<L>,
}

impl<L: TypeList> Column for TypedCheckpoint<L> {
    type Scope<'s> = AdaptivePool;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self { pool: AdaptivePool::default(), types: PhantomData }
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut AdaptivePool) -> R) -> R {
        self.pool.checkpoint_typed::<L>();
        let result = body(&mut self.pool);
        self.pool.rewind_typed::<L>();
        result
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        pool: &mut AdaptivePool,
        _: usize,
        length: usize,
    ) -> Address {
        Address(pool.acquire::<T>(length).as_mut_ptr().cast())
    }
}

impl<L: TypeList> NestingColumn for TypedCheckpoint<L> {
    #[inline(always)]
    fn nested<R>(pool: &mut AdaptivePool, body: impl FnOnce(&mut AdaptivePool) -> R) -> R {
        pool.checkpoint_typed::<L>();
        let result = body(pool);
        pool.rewind_typed::<L>();
        result
    }
}
