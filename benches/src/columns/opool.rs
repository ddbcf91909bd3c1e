//! opool: a pool of objects, here vectors, with one pool for each element type.

use std::fmt;

use opool::{LocalPool, RefLocalGuard};

use crate::column::{BenchElement, Buffer, Column};
use crate::storage::{ObjectPools, Vectors};

/// opool's thread-local pools.
#[derive(Debug)]
pub struct Opool(ObjectPools);

/// A vector borrowed from an object pool.
pub struct Loan<'s, T>(RefLocalGuard<'s, Vectors, Vec<T>>);

impl<T> fmt::Debug for Loan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Loan").field(&self.0.capacity()).finish()
    }
}

// SAFETY: `acquire` has reserved the length, and a vector is valid for writes of its capacity.
unsafe impl<T> Buffer for Loan<'_, T> {
    #[inline(always)]
    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

impl Column for Opool {
    type Scope<'s> = &'s ObjectPools;
    type Buffer<'s, T: BenchElement> = Loan<'s, T>;

    fn new() -> Self {
        Self(ObjectPools {
            f64s: LocalPool::new(32, Vectors),
            f32s: LocalPool::new(32, Vectors),
            i64s: LocalPool::new(32, Vectors),
            i32s: LocalPool::new(32, Vectors),
            c64s: LocalPool::new(32, Vectors),
            c32s: LocalPool::new(32, Vectors),
            u8s: LocalPool::new(32, Vectors),
            u16s: LocalPool::new(32, Vectors),
        })
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut &ObjectPools) -> R) -> R {
        body(&mut &self.0)
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        pools: &mut &'s ObjectPools,
        _: usize,
        length: usize,
    ) -> Loan<'s, T> {
        let mut vector = T::objects(pools).get();
        // The vector is empty, so this call only compares the length with the capacity.
        vector.reserve(length);
        Loan(vector)
    }
}
