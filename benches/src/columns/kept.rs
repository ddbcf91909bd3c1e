//! Buffers that the caller keeps in a struct and grows by hand: the best that is possible in
//! practice.

use crate::column::{Address, BenchElement, Column, NestingColumn};
use crate::storage::KeptVectors;

/// Buffers kept by the caller, one for each position. Each is compared with the required length,
/// and grown if necessary.
#[derive(Debug, Default)]
pub struct CallerKept(pub(crate) KeptVectors);

impl Column for CallerKept {
    type Scope<'s> = KeptVectors;
    type Buffer<'s, T: BenchElement> = Address;

    fn new() -> Self {
        Self::default()
    }

    #[inline(always)]
    fn scoped<R>(&mut self, body: impl FnOnce(&mut KeptVectors) -> R) -> R {
        body(&mut self.0)
    }

    #[inline(always)]
    fn acquire<'s: 's, T: BenchElement>(
        vectors: &mut KeptVectors,
        position: usize,
        length: usize,
    ) -> Address {
        let vector = &mut T::kept(vectors)[position];
        if vector.capacity() < length {
            grow(vector, length);
        }
        Address(vector.as_mut_ptr().cast())
    }
}

impl NestingColumn for CallerKept {
    #[inline(always)]
    fn nested<R>(vectors: &mut KeptVectors, body: impl FnOnce(&mut KeptVectors) -> R) -> R {
        body(vectors)
    }
}

#[cold]
#[inline(never)]
fn grow<T>(vector: &mut Vec<T>, length: usize) {
    vector.reserve(length);
}
