//! The global allocator: a new vector for each temporary, either uninitialised or zeroed.

use crate::column::{BenchElement, Buffer, Column, NestingColumn};

// SAFETY: both columns create vectors with at least the requested capacity.
unsafe impl<T> Buffer for Vec<T> {
    #[inline(always)]
    fn start(&mut self) -> *mut u8 {
        self.as_mut_ptr().cast()
    }
}

/// `Vec::with_capacity(n)`.
#[derive(Debug)]
pub struct WithCapacity;

/// `vec![0; n]`.
#[derive(Debug)]
pub struct Zeroed;

impl Column for WithCapacity {
    type Scope<'s> = ();
    type Buffer<'s, T: BenchElement> = Vec<T>;

    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut ()) -> R) -> R {
        body(&mut ())
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>((): &mut (), _: usize, length: usize) -> Vec<T> {
        Vec::with_capacity(length)
    }
}

impl NestingColumn for WithCapacity {
    #[inline(always)]
    fn nested<R>((): &mut (), body: impl FnOnce(&mut ()) -> R) -> R {
        body(&mut ())
    }
}

impl Column for Zeroed {
    type Scope<'s> = ();
    type Buffer<'s, T: BenchElement> = Vec<T>;

    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut ()) -> R) -> R {
        body(&mut ())
    }

    /// Equivalent to `vec![0; n]`. The standard library requests zeroed memory for this macro only
    /// if the elements are primitive numbers.
    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>((): &mut (), _: usize, length: usize) -> Vec<T> {
        vec![T::default(); length]
    }
}

impl NestingColumn for Zeroed {
    #[inline(always)]
    fn nested<R>((): &mut (), body: impl FnOnce(&mut ()) -> R) -> R {
        body(&mut ())
    }
}
