//! The number types that the examples compute with, and their properties on the host.

use std::fmt::{self, Debug};
use std::ops::{Add, Div, Mul};

use clap::ValueEnum;
use pool_facade::PodElement;

/// A floating-point number of 32 or 64 bits.
pub trait Number:
    PodElement + Debug + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Zero.
    const ZERO: Self;

    /// One.
    const ONE: Self;

    /// The unit roundoff u: the number of this type nearest to a real number a is a·(1 + δ) with
    /// |δ| ≤ u.
    const UNIT_ROUNDOFF: f64;

    /// Returns the nearest number of this type.
    fn from_f64(value: f64) -> Self;

    /// Converts the number to 64 bits.
    fn to_f64(self) -> f64;

    /// Computes `self · factor + term` with a single rounding.
    #[must_use]
    fn mul_add(self, factor: Self, term: Self) -> Self;
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

    #[expect(clippy::cast_possible_truncation, reason = "the nearest number is intended")]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn mul_add(self, factor: Self, term: Self) -> Self {
        f32::mul_add(self, factor, term)
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn mul_add(self, factor: Self, term: Self) -> Self {
        f64::mul_add(self, factor, term)
    }
}

/// Returns the nearest numbers of type `T`.
#[must_use]
pub fn rounded<T: Number>(values: &[f64]) -> Vec<T> {
    values.iter().map(|value| T::from_f64(*value)).collect()
}

/// Converts the numbers to 64 bits.
#[must_use]
pub fn widened<T: Number>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f64()).collect()
}

/// The precision of a computation, which selects its [`Number`] type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// Numbers of 32 bits.
    F32,
    /// Numbers of 64 bits.
    F64,
}

impl Precision {
    /// Returns the unit roundoff of this precision.
    #[must_use]
    pub fn unit_roundoff(self) -> f64 {
        match self {
            Self::F32 => f32::UNIT_ROUNDOFF,
            Self::F64 => f64::UNIT_ROUNDOFF,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}
