//! Buffers that the caller keeps in a struct and grows by hand: the practical bound.

use num_complex::Complex;

use crate::column::{Address, BenchElement, Column, NestingColumn};

/// The most temporaries of one type at a time.
const MOST: usize = 16;

/// Vectors of each type, as a caller would write them down as fields.
#[derive(Debug, Default)]
pub struct KeptVectors {
    pub(crate) f64s: [Vec<f64>; MOST],
    pub(crate) f32s: [Vec<f32>; MOST],
    pub(crate) i64s: [Vec<i64>; MOST],
    pub(crate) i32s: [Vec<i32>; MOST],
    pub(crate) c64s: [Vec<Complex<f64>>; MOST],
    pub(crate) c32s: [Vec<Complex<f32>>; MOST],
    pub(crate) u8s: [Vec<u8>; MOST],
    pub(crate) u16s: [Vec<u16>; MOST],
}

/// Buffers kept by the caller: one for each position, compared with what is needed and grown.
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
