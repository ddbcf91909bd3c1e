//! Tensors: a convolution on the processor makes its input contiguous, its kernel flat, and a
//! matrix of patches for each tile of its output. It is generic over the element type.

use std::process::ExitCode;

use adoption_measure::{Case, run};

/// Returns pseudo-random numbers from −1 to 1.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A convolution of one image by one version of the crate.
macro_rules! convolution {
    ($candle:ident, $channels:expr, $side:expr, $out:expr, $kernel:expr) => {{
        use $candle::{Device, Tensor};
        let tensor = |shape: (usize, usize, usize, usize)| {
            let elements = numbers(shape.0 * shape.1 * shape.2 * shape.3);
            Tensor::from_vec(elements, shape, &Device::Cpu).expect("as many elements")
        };
        let image = tensor((1, $channels, $side, $side));
        let kernel = tensor(($out, $channels, $kernel, $kernel));
        move || image.conv2d(&kernel, $kernel / 2, 1, 1, 1).expect("the shapes fit")
    }};
}

macro_rules! bits {
    ($candle:ident) => {
        |tensor: &$candle::Tensor| {
            let elements = tensor.flatten_all().and_then(|flat| flat.to_vec1::<f32>());
            let elements = elements.expect("a tensor on the host");
            elements.into_iter().map(|element| u64::from(element.to_bits())).collect()
        }
    };
}

fn case(channels: usize, side: usize, out: usize, kernel: usize) -> Case<'static> {
    let name = format!("conv2d, {channels} × {side}² to {out}, {kernel}×{kernel}");
    Case::new(name)
        .version("original", convolution!(original, channels, side, out, kernel), bits!(original))
        .version("pool", convolution!(pool, channels, side, out, kernel), bits!(pool))
}

/// Runs on the only thread of a rayon pool, whose time and allocations alone are counted.
fn main() -> ExitCode {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    threads.install(|| {
        run(vec![case(64, 28, 64, 1), case(3, 32, 8, 3), case(16, 56, 16, 3), case(3, 224, 16, 3)])
    })
}
