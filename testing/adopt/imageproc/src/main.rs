//! Images: `canny` allocates six temporary images and a stack of places for the one that it
//! returns. `separable_filter`, generic over its number types, allocates one.

use std::process::ExitCode;

use adoption_measure::{Case, run};
use image::{GrayImage, ImageBuffer, Luma, Pixel, Rgb, RgbImage};

/// Returns stripes, blocks and a gradient: edges of many directions and strengths.
fn photograph(width: u32, height: u32) -> GrayImage {
    GrayImage::from_fn(width, height, |x, y| {
        let stripe = if (x / 13 + y / 7) % 2 == 0 { 90 } else { 0 };
        let block = if (x / 61) % 3 == (y / 47) % 3 { 110 } else { 20 };
        Luma([stripe + block + (x * 31 + y * 17 + x * y % 23) as u8 % 40])
    })
}

fn bits<P: Pixel<Subpixel = u8>>(image: &ImageBuffer<P, Vec<u8>>) -> Vec<u64> {
    image.as_raw().iter().map(|&value| u64::from(value)).collect()
}

fn canny(width: u32, height: u32) -> Case<'static> {
    let [for_original, for_pool] = [photograph(width, height), photograph(width, height)];
    Case::new(format!("canny, {width}×{height}"))
        .version("original", move || original::edges::canny(&for_original, 50.0, 120.0), bits)
        .version("pool", move || pool::edges::canny(&for_pool, 50.0, 120.0), bits)
}

fn separable(side: u32) -> Case<'static> {
    let image = RgbImage::from_fn(side, side, |x, y| {
        Rgb([(x * 7 + y) as u8, (x ^ y) as u8, (x * y % 251) as u8])
    });
    let [for_original, for_pool] = [image.clone(), image];
    let (across, down) =
        ([1.0_f32 / 16.0, 0.25, 0.375, 0.25, 1.0 / 16.0], [0.1_f32, 0.2, 0.4, 0.2, 0.1]);
    Case::new(format!("separable_filter, {side}², 3 channels"))
        .version(
            "original",
            move || original::filter::separable_filter(&for_original, &across, &down),
            bits,
        )
        .version("pool", move || pool::filter::separable_filter(&for_pool, &across, &down), bits)
}

fn main() -> ExitCode {
    let edges = [(64, 64), (250, 250), (1920, 1080)].map(|(width, height)| canny(width, height));
    run(edges.into_iter().chain([16, 256].map(separable)).collect())
}
