//! Filters of n-dimensional arrays: `gaussian_filter` works axis by axis between two arrays, and returns one of them.
//! `correlate1d` pads each line in a buffer. Both are generic over public traits, `Copy` and numbers.

use std::process::ExitCode;

use adoption_measure::{Case, run};
use ndarray::{Array, Array1, Array2, Axis, Dimension};

fn bits<D: Dimension>(array: &Array<f64, D>) -> Vec<u64> {
    let order = u64::from(array.is_standard_layout());
    let lengths = array.shape().iter().map(|&length| length as u64);
    [order].into_iter().chain(lengths).chain(array.iter().map(|value| value.to_bits())).collect()
}

/// Returns an image without symmetry.
fn image(side: usize) -> Array2<f64> {
    Array2::from_shape_fn((side, side), |(row, column)| ((row * 31 + column * 17) % 101) as f64)
}

fn gaussian(side: usize) -> Case<'static> {
    let data = [image(side), image(side)];
    let [for_original, for_pool] = data;
    Case::new(format!("gaussian_filter, {side}²"))
        .version(
            "original",
            move || {
                original::gaussian_filter(&for_original, 1.5, 0, original::BorderMode::Reflect, 3)
            },
            bits,
        )
        .version(
            "pool",
            move || pool::gaussian_filter(&for_pool, 1.5, 0, pool::BorderMode::Reflect, 3),
            bits,
        )
}

/// The volume is transposed, so in column-major order. It has three axes, so that the last pass
/// starts from the other array.
fn gaussian_of_a_volume(side: usize) -> Case<'static> {
    let volume = Array::from_shape_fn((side, side, side), |(plane, row, column)| {
        ((plane * 7 + row * 31 + column * 17) % 101) as f64
    });
    let volume = volume.reversed_axes();
    let [for_original, for_pool] = [volume.clone(), volume];
    Case::new(format!("gaussian_filter, {side}³ transposed"))
        .version(
            "original",
            move || {
                original::gaussian_filter(&for_original, 1.0, 0, original::BorderMode::Mirror, 3)
            },
            bits,
        )
        .version(
            "pool",
            move || pool::gaussian_filter(&for_pool, 1.0, 0, pool::BorderMode::Mirror, 3),
            bits,
        )
}

fn correlate(side: usize) -> Case<'static> {
    let [for_original, for_pool] = [image(side), image(side)];
    let weights = Array1::from(vec![0.5, -1.0, 0.25, 2.0, 0.125]);
    let same_weights = weights.clone();
    Case::new(format!("correlate1d, {side}²"))
        .version(
            "original",
            move || {
                let mode = original::BorderMode::Nearest;
                original::correlate1d(&for_original, &weights, Axis(0), mode, 0)
            },
            bits,
        )
        .version(
            "pool",
            move || {
                let mode = pool::BorderMode::Nearest;
                pool::correlate1d(&for_pool, &same_weights, Axis(0), mode, 0)
            },
            bits,
        )
}

fn main() -> ExitCode {
    let gaussians = [16, 64, 512].map(gaussian).into_iter().chain([gaussian_of_a_volume(32)]);
    run(gaussians.chain([8, 512].map(correlate)).collect())
}
