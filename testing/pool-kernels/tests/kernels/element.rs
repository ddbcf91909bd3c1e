//! The types of elements: their storage, and the precision of computations.

use std::fmt::Debug;

use cudarc::driver::DeviceRepr;
use half::f16;
use pool_kernels::{FloatKernels, Kernels};

use crate::gpu::Argument;

/// A type stored in device memory.
pub(crate) trait Stored: DeviceRepr + Copy + Debug + PartialEq {
    /// The value before and after each array, which must not change.
    const GUARD: Self;
}

/// A type of elements.
pub(crate) trait Element {
    type Stored: Stored;
    /// The wide type, of scalars and of the results of reductions.
    type Wide: Stored;
    const NAME: &'static str;
    /// The unit roundoff u of computations: half the distance from 1 to the next number.
    const UNIT: f64;

    /// Rounds to the nearest.
    fn store(value: f64) -> Self::Stored;
    fn load(stored: Self::Stored) -> f64;
    /// Rounds to the nearest wide number.
    fn widen(value: f64) -> Self::Wide;
    fn load_wide(wide: Self::Wide) -> f64;
    fn scalar(wide: Self::Wide) -> Argument;
    fn name(kernels: Kernels) -> &'static str;

    /// Returns the allowed error of an element, if the wide number before the store may be off by
    /// `error`.
    fn tolerance(reference: f64, error: f64) -> f64;

    /// Returns the same for a wide number itself.
    fn wide_tolerance(reference: f64, error: f64) -> f64;
}

/// A type that has the kernels without variants of 16 bits.
pub(crate) trait Float: Element {
    fn float_name(kernels: FloatKernels) -> &'static str;
}

pub(crate) struct F16;
pub(crate) struct F32;
pub(crate) struct F64;

impl Stored for u16 {
    const GUARD: Self = 0xa5a5;
}

impl Stored for u32 {
    const GUARD: Self = 0xa5a5_a5a5;
}

impl Stored for u64 {
    const GUARD: Self = 0xa5a5_a5a5_a5a5_a5a5;
}

impl Stored for f32 {
    const GUARD: Self = -7.625e17;
}

impl Stored for f64 {
    const GUARD: Self = -7.625e170;
}

/// The reference is computed in 64 bits. It has that unit roundoff's error itself, 2^-29 of the
/// kernel's, and that of its last rounding.
fn single(reference: f64, error: f64) -> f64 {
    error * (1.0 + 2_f64.powi(-28)) + reference.abs() * 2_f64.powi(-52) + 2_f64.powi(-149)
}

impl Element for F32 {
    type Stored = f32;
    type Wide = f32;
    const NAME: &'static str = "f32";
    const UNIT: f64 = 1.0 / (1_u64 << 24) as f64;

    #[expect(clippy::cast_possible_truncation, reason = "it rounds")]
    fn store(value: f64) -> f32 {
        value as f32
    }

    fn load(stored: f32) -> f64 {
        stored.into()
    }

    fn widen(value: f64) -> f32 {
        Self::store(value)
    }

    fn load_wide(wide: f32) -> f64 {
        wide.into()
    }

    fn scalar(wide: f32) -> Argument {
        Argument::Single(wide)
    }

    fn name(kernels: Kernels) -> &'static str {
        kernels.f32
    }

    fn tolerance(reference: f64, error: f64) -> f64 {
        single(reference, error)
    }

    fn wide_tolerance(reference: f64, error: f64) -> f64 {
        single(reference, error)
    }
}

impl Element for F64 {
    type Stored = f64;
    type Wide = f64;
    const NAME: &'static str = "f64";
    const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;

    fn store(value: f64) -> f64 {
        value
    }

    fn load(stored: f64) -> f64 {
        stored
    }

    fn widen(value: f64) -> f64 {
        value
    }

    fn load_wide(wide: f64) -> f64 {
        wide
    }

    fn scalar(wide: f64) -> Argument {
        Argument::Double(wide)
    }

    fn name(kernels: Kernels) -> &'static str {
        kernels.f64
    }

    /// The reference is as precise as the kernel: the same bound holds for it, and both may be off.
    fn tolerance(reference: f64, error: f64) -> f64 {
        2.0 * error + reference.abs() * 2_f64.powi(-52) + f64::from_bits(1)
    }

    fn wide_tolerance(reference: f64, error: f64) -> f64 {
        Self::tolerance(reference, error)
    }
}

impl Element for F16 {
    type Stored = u16;
    type Wide = f32;
    const NAME: &'static str = "f16";
    const UNIT: f64 = F32::UNIT;

    fn store(value: f64) -> u16 {
        f16::from_f64(value).to_bits()
    }

    fn load(stored: u16) -> f64 {
        f16::from_bits(stored).to_f64()
    }

    fn widen(value: f64) -> f32 {
        F32::store(value)
    }

    fn load_wide(wide: f32) -> f64 {
        wide.into()
    }

    fn scalar(wide: f32) -> Argument {
        Argument::Single(wide)
    }

    fn name(kernels: Kernels) -> &'static str {
        kernels.f16
    }

    /// It has one more rounding, of an inexact number; below 2^-14 it rounds to multiples of 2^-24.
    fn tolerance(reference: f64, error: f64) -> f64 {
        let wide = single(reference, error);
        wide + (reference.abs() + wide) * 2_f64.powi(-11) + 2_f64.powi(-25)
    }

    fn wide_tolerance(reference: f64, error: f64) -> f64 {
        single(reference, error)
    }
}

impl Float for F32 {
    fn float_name(kernels: FloatKernels) -> &'static str {
        kernels.f32
    }
}

impl Float for F64 {
    fn float_name(kernels: FloatKernels) -> &'static str {
        kernels.f64
    }
}

/// Calls a generic function for each type of elements.
macro_rules! for_each_type {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        $function::<$crate::element::F16>($($argument),*);
        $function::<$crate::element::F32>($($argument),*);
        $function::<$crate::element::F64>($($argument),*);
    }};
}

/// Calls it for the types that every kernel has.
macro_rules! for_each_float {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        $function::<$crate::element::F32>($($argument),*);
        $function::<$crate::element::F64>($($argument),*);
    }};
}

pub(crate) use {for_each_float, for_each_type};
