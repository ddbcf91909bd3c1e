//! The names of a kernel by element type.

/// A kernel's name in its module, by the type of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernels {
    /// The name for IEEE 754 numbers of 16 bits, stored as such and computed in 32.
    pub f16: &'static str,
    /// The name for numbers of 32 bits.
    pub f32: &'static str,
    /// The name for numbers of 64 bits.
    pub f64: &'static str,
}

/// The names of a kernel without a variant for 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FloatKernels {
    /// The name for numbers of 32 bits.
    pub f32: &'static str,
    /// The name for numbers of 64 bits.
    pub f64: &'static str,
}

macro_rules! kernels {
    ($name:literal) => {
        $crate::kernel::Kernels {
            f16: concat!($name, "_f16"),
            f32: concat!($name, "_f32"),
            f64: concat!($name, "_f64"),
        }
    };
}

macro_rules! float_kernels {
    ($name:literal) => {
        $crate::kernel::FloatKernels { f32: concat!($name, "_f32"), f64: concat!($name, "_f64") }
    };
}

pub(crate) use {float_kernels, kernels};

impl Kernels {
    /// Returns all names.
    #[must_use]
    pub const fn names(&self) -> [&'static str; 3] {
        [self.f16, self.f32, self.f64]
    }
}

impl FloatKernels {
    /// Returns all names.
    #[must_use]
    pub const fn names(&self) -> [&'static str; 2] {
        [self.f32, self.f64]
    }
}
