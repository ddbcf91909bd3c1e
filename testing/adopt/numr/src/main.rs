//! The FFT of numr, whose private functions allocate their temporaries and call each other: a transform of any length
//! calls two of a power of two. In the patch each of these functions opens a stack of the thread, so they are nested.
//!
//! The program measures the time, and the peak memory of a process.

use std::process::ExitCode;

use adoption_measure::{Case, measure_peaks, run};

/// Transforms forward and back, complex and real, of `n` numbers, by either crate.
macro_rules! transforms {
    ($version:ident, $n:expr) => {{
        use $version::dtype::complex::Complex64;
        use $version::prelude::*;

        let device = CpuDevice::new();
        let client = CpuRuntime::default_client(&device);
        let n: usize = $n;
        let real: Vec<f32> = (0..n).map(|at| (at * at % 1_009) as f32 / 1_009.0 - 0.5).collect();
        let complex: Vec<Complex64> = real.iter().map(|&x| Complex64::new(x, 1.0 - x)).collect();
        let real = Tensor::<CpuRuntime>::from_slice(&real, &[n], &device).unwrap();
        let complex = Tensor::<CpuRuntime>::from_slice(&complex, &[n], &device).unwrap();
        move || {
            let norm = FftNormalization::Backward;
            let spectrum = client.fft(&complex, FftDirection::Forward, norm).unwrap();
            let back = client.fft(&spectrum, FftDirection::Inverse, norm).unwrap();
            let half = client.rfft(&real, norm).unwrap();
            let again = client.irfft(&half, Some(n), norm).unwrap();
            [spectrum, back, half, again]
        }
    }};
}

/// A case with a further version, whose numbers are compared bit by bit.
macro_rules! with_version {
    ($case:expr, $name:literal, $version:ident, $n:expr) => {{
        use $version::dtype::complex::Complex64;
        use $version::prelude::*;

        $case.version($name, transforms!($version, $n), |tensors: &[Tensor<CpuRuntime>; 4]| {
            let [spectrum, back, half, again] = tensors;
            let mut bits: Vec<u64> =
                again.to_vec::<f32>().iter().map(|number| u64::from(number.to_bits())).collect();
            for complex in [spectrum, back, half] {
                let numbers = complex.to_vec::<Complex64>();
                let parts = numbers.iter().flat_map(|number| [number.re, number.im]);
                bits.extend(parts.map(|part| u64::from(part.to_bits())));
            }
            bits
        })
    }};
}

fn case(n: usize) -> Case<'static> {
    let case = Case::new(format!("fft and rfft, forward and back, n = {n}"));
    let case = with_version!(case, "original", original, n);
    with_version!(case, "pool", pool, n)
}

/// Runs the work of one version.
fn work_alone(version: &str) {
    for n in [1_000_003, 1 << 20] {
        if version == "original" {
            let work = transforms!(original, n);
            (0..3).for_each(|_| drop(std::hint::black_box(work())));
        } else {
            let work = transforms!(pool, n);
            (0..3).for_each(|_| drop(std::hint::black_box(work())));
        }
    }
}

fn main() -> ExitCode {
    if measure_peaks(work_alone) {
        return ExitCode::SUCCESS;
    }
    run([1_000, 1 << 10, 100_003, 1 << 17].map(case).into_iter().collect())
}
