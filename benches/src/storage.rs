//! The storage of columns that sort by type: vectors or an object pool for each element type.

use std::fmt;

use num_complex::Complex;
use opool::{LocalPool, PoolAllocator};

/// The maximum number of temporaries of one type that are live at the same time.
const MOST: usize = 16;

/// Vectors of each type, as a caller would declare them as fields.
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

/// Creates empty vectors. An idle vector keeps its capacity.
#[derive(Debug)]
pub struct Vectors;

impl<T> PoolAllocator<Vec<T>> for Vectors {
    #[inline]
    fn allocate(&self) -> Vec<T> {
        Vec::new()
    }
}

/// The object pool for vectors of one type.
pub type OfType<T> = LocalPool<Vectors, Vec<T>>;

/// One pool for each type.
pub struct ObjectPools {
    pub(crate) f64s: OfType<f64>,
    pub(crate) f32s: OfType<f32>,
    pub(crate) i64s: OfType<i64>,
    pub(crate) i32s: OfType<i32>,
    pub(crate) c64s: OfType<Complex<f64>>,
    pub(crate) c32s: OfType<Complex<f32>>,
    pub(crate) u8s: OfType<u8>,
    pub(crate) u16s: OfType<u16>,
}

impl fmt::Debug for ObjectPools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectPools").field("f64s", &self.f64s.len()).finish_non_exhaustive()
    }
}
