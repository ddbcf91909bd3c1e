//! Loops over rows, each compiled for every kind of processor that pulp selects.
//!
//! A closure would suffice if inlining were certain: one that is not inlined is compiled for the
//! oldest processor.

use pulp::{Simd, WithSimd};

use super::functions::{dot, exp_below_0, gelu, largest, sum};

/// Each number through [`gelu`].
pub(super) struct Gelu<'y> {
    pub(super) y: &'y mut [f32],
}

impl WithSimd for Gelu<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for number in self.y {
            *number = gelu(*number);
        }
    }
}

/// The first numbers of each row as their softmax, all others as 0.
pub(super) struct Softmax<'y> {
    pub(super) columns: usize,
    /// At most the number of columns.
    pub(super) length: usize,
    pub(super) y: &'y mut [f32],
}

impl WithSimd for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for row in self.y.chunks_exact_mut(self.columns) {
            let (row, beyond) = row.split_at_mut(self.length);
            let largest = largest(row);
            for number in row.iter_mut() {
                *number = exp_below_0(*number - largest);
            }
            let inverse = 1.0 / sum(row);
            for number in row {
                *number *= inverse;
            }
            beyond.fill(0.0);
        }
    }
}

/// Each row of `y` plus that of `update`, normalized.
pub(super) struct AddAndNormalize<'y> {
    pub(super) update: &'y [f32],
    /// Scale, shift, and the constant added to the variance.
    pub(super) norm: (&'y [f32], &'y [f32], f32),
    pub(super) y: &'y mut [f32],
}

impl WithSimd for AddAndNormalize<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (scale, shift, epsilon) = self.norm;
        let columns = scale.len();
        let rows = self.y.chunks_exact_mut(columns);
        for (y, update) in rows.zip(self.update.chunks_exact(columns)) {
            for (y, update) in y.iter_mut().zip(update) {
                *y += update;
            }
            let mean = sum(y) / number_of(columns);
            for y in y.iter_mut() {
                *y -= mean;
            }
            let variance = dot(y) / number_of(columns);
            let inverse = 1.0 / (variance + epsilon).sqrt();
            for ((y, scale), shift) in y.iter_mut().zip(scale).zip(shift) {
                *y = *y * inverse * scale + shift;
            }
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a row has fewer numbers than an f32 can count exactly"
)]
fn number_of(columns: usize) -> f32 {
    columns as f32
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar, WithSimd};

    use super::{AddAndNormalize, Gelu, Softmax};

    fn numbers(count: u16) -> Vec<f32> {
        (0..count).map(|at| f32::from(at.wrapping_mul(40_503)) / 8192.0 - 4.0).collect()
    }

    /// The bits of a loop for this processor, and for a generic one.
    #[test]
    fn every_processor_has_the_same_bits() {
        let loops: [fn(&mut [f32], bool); 3] = [
            |y, known| run(Gelu { y }, known),
            |y, known| run(Softmax { columns: 57, length: 39, y }, known),
            |y, known| {
                let (update, scale, shift) = (numbers(570), numbers(57), numbers(57));
                run(AddAndNormalize { update: &update, norm: (&scale, &shift, 1e-3), y }, known);
            },
        ];
        for (at, of) in loops.into_iter().enumerate() {
            let [mut known, mut unknown] = [numbers(570), numbers(570)];
            of(&mut known, true);
            of(&mut unknown, false);
            let bits = |y: Vec<f32>| y.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert!(known != numbers(570));
            assert_eq!(bits(known), bits(unknown), "loop {at}");
        }
    }

    fn run(of: impl WithSimd<Output = ()>, known: bool) {
        if known { Arch::new().dispatch(of) } else { of.with_simd(Scalar) }
    }
}
