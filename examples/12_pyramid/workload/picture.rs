//! Pictures over any storage, and the arithmetic that computes one picture from another: blur,
//! gradients, and half size. The arithmetic writes to storage that the caller passes, so both
//! versions run the same code.

use std::ops::{Deref, DerefMut};

/// Storage that can be read as pixels: `Vec<T>`, `&[T]` or `&mut [T]`.
pub(crate) trait Pixels<T>: Deref<Target = [T]> {}

impl<T, Storage: Deref<Target = [T]>> Pixels<T> for Storage {}

/// A picture in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Picture<Storage> {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Storage,
}

impl<T, Storage: Deref<Target = [T]>> Picture<Storage> {
    /// Returns one row of pixels.
    pub(crate) fn row(&self, y: usize) -> &[T] {
        &self.pixels[y * self.width..(y + 1) * self.width]
    }
}

impl<Storage: DerefMut<Target = [f32]>> Picture<Storage> {
    fn row_mut(&mut self, y: usize) -> &mut [f32] {
        &mut self.pixels[y * self.width..(y + 1) * self.width]
    }

    /// Blurs along each row. Beyond its ends, a row continues with its last pixel. `padded` must
    /// have room for a row plus half of the weights on both sides.
    pub(crate) fn fill_blurred_rows(
        &mut self,
        from: &Picture<impl Pixels<f32>>,
        weights: &[f32],
        padded: &mut [f32],
    ) {
        let reach = weights.len() / 2;
        for y in 0..self.height {
            let row = from.row(y);
            padded[..reach].fill(row[0]);
            padded[reach..reach + row.len()].copy_from_slice(row);
            padded[reach + row.len()..].fill(row[row.len() - 1]);
            let out = self.row_mut(y);
            out.fill(0.0);
            for (shift, weight) in weights.iter().enumerate() {
                add_weighted(out, *weight, &padded[shift..shift + row.len()]);
            }
        }
    }

    /// Blurs along each column. Beyond its ends, a column continues with its last pixel.
    pub(crate) fn fill_blurred_columns(
        &mut self,
        from: &Picture<impl Pixels<f32>>,
        weights: &[f32],
    ) {
        let reach = weights.len() / 2;
        for y in 0..self.height {
            let out = self.row_mut(y);
            out.fill(0.0);
            for (shift, weight) in weights.iter().enumerate() {
                let source = (y + shift).saturating_sub(reach).min(from.height - 1);
                add_weighted(out, *weight, from.row(source));
            }
        }
    }

    /// Computes Sobel's derivative from left to right, which is 0 on the border.
    pub(crate) fn fill_horizontal_gradient(&mut self, from: &Picture<impl Pixels<f32>>) {
        self.fill_inner(from, |above, here, below, x| {
            let right = above[x + 1] + 2.0 * here[x + 1] + below[x + 1];
            let left = above[x - 1] + 2.0 * here[x - 1] + below[x - 1];
            right - left
        });
    }

    /// Computes Sobel's derivative from top to bottom, which is 0 on the border.
    pub(crate) fn fill_vertical_gradient(&mut self, from: &Picture<impl Pixels<f32>>) {
        self.fill_inner(from, |above, _, below, x| {
            let bottom = below[x - 1] + 2.0 * below[x] + below[x + 1];
            let top = above[x - 1] + 2.0 * above[x] + above[x + 1];
            bottom - top
        });
    }

    fn fill_inner(
        &mut self,
        from: &Picture<impl Pixels<f32>>,
        pixel: impl Fn(&[f32], &[f32], &[f32], usize) -> f32,
    ) {
        self.pixels.fill(0.0);
        for y in 1..self.height - 1 {
            let (above, here, below) = (from.row(y - 1), from.row(y), from.row(y + 1));
            let out = self.row_mut(y);
            for x in 1..out.len() - 1 {
                out[x] = pixel(above, here, below, x);
            }
        }
    }

    /// Computes the length of the gradient.
    pub(crate) fn fill_steepness(
        &mut self,
        horizontal: &Picture<impl Pixels<f32>>,
        vertical: &Picture<impl Pixels<f32>>,
    ) {
        let gradients = horizontal.pixels.iter().zip(vertical.pixels.iter());
        for (out, (across, down)) in self.pixels.iter_mut().zip(gradients) {
            *out = (across * across + down * down).sqrt();
        }
    }

    /// Copies every second pixel of every second row.
    pub(crate) fn fill_half(&mut self, from: &Picture<impl Pixels<f32>>) {
        for y in 0..self.height {
            let row = from.row(2 * y);
            for (out, grey) in self.row_mut(y).iter_mut().zip(row.iter().step_by(2)) {
                *out = *grey;
            }
        }
    }
}

/// Returns the number of weights of a blur with this standard deviation, which extends three
/// deviations to both sides.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few pixels")]
pub(crate) fn weight_count(deviation: f32) -> usize {
    2 * (3.0 * deviation).ceil() as usize + 1
}

/// Computes Gaussian weights whose sum is 1.
#[expect(clippy::cast_precision_loss, reason = "a few pixels")]
pub(crate) fn fill_weights(weights: &mut [f32], deviation: f32) {
    let middle = (weights.len() / 2) as f32;
    for (index, weight) in weights.iter_mut().enumerate() {
        let distance = (index as f32 - middle) / deviation;
        *weight = (-0.5 * distance * distance).exp();
    }
    let sum: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
}

fn add_weighted(out: &mut [f32], weight: f32, row: &[f32]) {
    for (sum, grey) in out.iter_mut().zip(row) {
        *sum += weight * grey;
    }
}
