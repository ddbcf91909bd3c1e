//! A column of the table: one method to obtain temporary memory, as workloads use it.

use std::arch::asm;

use num_complex::Complex;
use pool_facade::PodElement;

use crate::published::{AdaptivePool, Stacked, TypedPool};
use crate::storage::{KeptVectors, ObjectPools, OfType};

/// A method to obtain temporaries.
pub trait Column: 'static {
    /// The source of a scope's temporaries.
    type Scope<'s>;
    /// A temporary. If dropping it runs code, the drop is part of the measured work.
    type Buffer<'s, T: BenchElement>: Buffer;

    /// Creates an empty column. The warm-up allocates its memory.
    fn new() -> Self;

    /// Runs `body` in a scope whose temporaries are freed when the scope ends.
    fn scoped<R>(&mut self, body: impl FnOnce(&mut Self::Scope<'_>) -> R) -> R;

    /// Acquires the temporary at index `position` of its scope, with room for `length` elements.
    fn acquire<'s: 's, T: BenchElement>(
        scope: &mut Self::Scope<'s>,
        position: usize,
        length: usize,
    ) -> Self::Buffer<'s, T>;
}

/// A column that supports nested scopes.
pub trait NestingColumn: Column {
    /// Runs `body` in an inner scope.
    fn nested<R>(scope: &mut Self::Scope<'_>, body: impl FnOnce(&mut Self::Scope<'_>) -> R) -> R;
}

/// A temporary.
///
/// # Safety
///
/// `start` must return an address that is valid for writes of the acquired length.
pub unsafe trait Buffer {
    /// Returns the address of the first element.
    fn start(&mut self) -> *mut u8;
}

// SAFETY: a mutable slice is valid for writes of its length.
unsafe impl<T> Buffer for &mut [T] {
    #[inline(always)]
    fn start(&mut self) -> *mut u8 {
        self.as_mut_ptr().cast()
    }
}

/// An address of memory that its column keeps valid until the scope ends.
#[derive(Debug)]
pub struct Address(pub *mut u8);

// SAFETY: only columns create addresses, and they own the memory.
unsafe impl Buffer for Address {
    #[inline(always)]
    fn start(&mut self) -> *mut u8 {
        self.0
    }
}

/// Writes one byte, and forces the compiler to assume that the byte is read.
///
/// This is a single `mov` to memory. The empty `asm` receives the address in a register and may
/// access all memory. The compiler must therefore compute the address and write the byte, and must
/// reload all values that a column keeps in memory. The code is the same for every column.
#[inline(always)]
pub fn touch(buffer: &mut impl Buffer) {
    let start = buffer.start();
    // SAFETY: the address is valid for writes (`Buffer`), and every workload acquires at least one
    // byte.
    unsafe { start.write(1) };
    escape(start);
}

/// Forces the compiler to assume that the value at the address is used.
#[inline(always)]
pub fn escape<T: ?Sized>(pointer: *const T) {
    // SAFETY: the assembly contains no instructions.
    unsafe { asm!("/* {0} */", in(reg) pointer.cast::<u8>(), options(nostack, preserves_flags)) };
}

/// Writes all elements, with the same code for every column.
#[inline(always)]
pub fn write_all(buffer: &mut impl Buffer, length: usize, value: f64) {
    let start = buffer.start().cast::<f64>();
    // SAFETY: the buffer was acquired with `length` elements of type `f64`, so it is valid for
    // `length` writes (`Buffer`).
    unsafe { write_from(start, length, value) };
    escape(start);
}

/// # Safety
///
/// `start` must be valid for writes of `length` numbers.
#[inline(never)]
unsafe fn write_from(start: *mut f64, length: usize, value: f64) {
    for index in 0..length {
        // SAFETY: `index` is less than `length`, so the address is in bounds.
        let place = unsafe { start.add(index) };
        // SAFETY: the address is valid for writes (caller).
        unsafe { place.write(value) };
    }
}

/// An element type of the workloads. Columns that sort by type use this trait to find the vectors
/// and the object pool of a type.
pub trait BenchElement: PodElement + Default + std::fmt::Debug + Stacked {
    /// Returns the vectors of this type that a caller keeps.
    fn kept(vectors: &mut KeptVectors) -> &mut [Vec<Self>];

    /// Returns the object pool of this type.
    fn objects(pools: &ObjectPools) -> &OfType<Self>;
}

macro_rules! elements {
    ($($field:ident: $element:ty, $published:expr;)+) => {$(
        impl BenchElement for $element {
            #[inline(always)]
            fn kept(vectors: &mut KeptVectors) -> &mut [Vec<Self>] {
                &mut vectors.$field
            }

            #[inline(always)]
            fn objects(pools: &ObjectPools) -> &OfType<Self> {
                &pools.$field
            }
        }

        impl Stacked for $element {
            #[inline(always)]
            fn published(pool: &mut AdaptivePool) -> Option<&mut TypedPool<Self>> {
                let stack: fn(&mut AdaptivePool) -> Option<&mut TypedPool<Self>> = $published;
                stack(pool)
            }
        }
    )+};
}

elements! {
    f64s: f64, |pool| Some(&mut pool.f64s);
    f32s: f32, |pool| Some(&mut pool.f32s);
    i64s: i64, |pool| Some(&mut pool.i64s);
    i32s: i32, |pool| Some(&mut pool.i32s);
    c64s: Complex<f64>, |pool| Some(&mut pool.c64s);
    c32s: Complex<f32>, |pool| Some(&mut pool.c32s);
    u8s: u8, |pool| Some(&mut pool.u8s);
    u16s: u16, |_| None;
}
