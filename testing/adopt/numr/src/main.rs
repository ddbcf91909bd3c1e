//! The FFT of numr, whose private functions allocate their temporaries and call each other: a transform of any length
//! calls two of a power of two. In the patch each of these functions opens a stack of the thread, so they are nested.
//!
//! Besides time, the most memory that a process had in use is compared: the patch may need a tenth more.

use std::process::{Command, ExitCode};

use adoption_measure::{Case, run};

/// Peak memory of the patch by that of the original, at most.
const MOST: f64 = 1.1;

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
            let mut numbers: Vec<f32> = again.to_vec();
            for part in [&spectrum, &back, &half] {
                let part: Vec<Complex64> = part.to_vec();
                numbers.extend(part.iter().flat_map(|number| [number.re, number.im]));
            }
            numbers
        }
    }};
}

fn bits(numbers: &Vec<f32>) -> Vec<u64> {
    numbers.iter().map(|number| u64::from(number.to_bits())).collect()
}

fn case(n: usize) -> Case<'static> {
    Case::new(format!("fft and rfft, forward and back, n = {n}"))
        .version("original", transforms!(original, n), bits)
        .version("pool", transforms!(pool, n), bits)
}

/// Works as a process of its own does, and prints the most memory that it had in use, in kibibytes.
fn work_alone(version: &str) -> Option<()> {
    for n in [1_000_003, 1 << 20, 1_000_003, 1 << 20] {
        let mut work: Box<dyn FnMut() -> Vec<f32>> = match version {
            "original" => Box::new(transforms!(original, n)),
            _ => Box::new(transforms!(pool, n)),
        };
        for _ in 0..3 {
            std::hint::black_box(work());
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    println!("{}", line.split_whitespace().nth(1)?);
    Some(())
}

/// The most memory that a process of either version had in use; `None` where the system does not tell.
fn peak(version: &str) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let printed = Command::new(program).args(["--alone", version]).output().ok()?;
    String::from_utf8(printed.stdout).ok()?.trim().parse().ok()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, version] = &arguments[..]
        && flag == "--alone"
    {
        return if work_alone(version).is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let (Some(original), Some(pool)) = (peak("original"), peak("pool")) {
        let ratio = pool / original;
        eprintln!("peak memory: {original} KiB, with the pool {pool} KiB: {ratio:.2} times");
        if ratio > MOST {
            eprintln!("error: more than {MOST} times");
            return ExitCode::FAILURE;
        }
    }
    run([1_000, 1 << 10, 100_003, 1 << 17].map(case).into_iter().collect())
}
