//! Two models of rten, whose operators exchange buffers through a pool. The original pool is a list
//! under a lock, and lives for one run of the model. In the patch, buffers are blocks of a
//! `SharedPool`, which lives as long as the model, and an output keeps its block until it is
//! dropped.
//!
//! The program measures the time, and the peak memory of a process.

mod models;
mod onnx;

use std::process::ExitCode;
use std::sync::Arc;

use adoption_measure::{Case, measure_peaks, run};
use models::{Input, residual_network, transformer};

/// Returns the only thread on which a model runs, and a function that runs the model.
macro_rules! model {
    ($version:ident, $input:expr) => {{
        use $version::{Model, RunOptions, ThreadPool, Value};

        let Input { file, shape, .. } = $input;
        let elements: usize = shape.iter().product();
        let numbers = (0..elements).map(|at| (at * at % 1_009) as f32 / 1_009.0 - 0.5);
        let input = Value::from_shape(shape, numbers.collect::<Vec<f32>>()).unwrap();
        let model = Model::load(file.clone()).unwrap();
        let threads = Arc::new(ThreadPool::with_num_threads(1));
        let options = RunOptions::default().with_thread_pool(Some(threads.clone()));
        let work = move || model.run_one(input.as_view().into(), Some(options.clone())).unwrap();
        (threads, work)
    }};
}

/// A case with a further version, whose numbers are compared bit by bit.
macro_rules! with_version {
    ($case:expr, $name:literal, $version:ident, $input:expr) => {{
        let (threads, work) = model!($version, $input);
        let place = move |job: &mut (dyn FnMut() + Send)| threads.run(job);
        $case.version_in($name, place, work, |output: &$version::Value| {
            let (_, numbers) = output.as_view().to_owned().into_shape_vec::<f32, 2>().unwrap();
            numbers.iter().map(|number| u64::from(number.to_bits())).collect()
        })
    }};
}

fn case(input: Input) -> Case<'static> {
    let case = Case::new(&input.name);
    let case = with_version!(case, "original", original, &input);
    with_version!(case, "pool", pool, &input)
}

/// Runs the large models by one version.
fn work_alone(version: &str) {
    for input in [residual_network(224), transformer(128, 256)] {
        if version == "original" {
            let (_, work) = model!(original, &input);
            (0..3).for_each(|_| drop(std::hint::black_box(work())));
        } else {
            let (_, work) = model!(pool, &input);
            (0..3).for_each(|_| drop(std::hint::black_box(work())));
        }
    }
}

fn main() -> ExitCode {
    if measure_peaks(work_alone) {
        return ExitCode::SUCCESS;
    }
    let inputs =
        [residual_network(224), residual_network(32), transformer(128, 256), transformer(8, 64)];
    run(inputs.map(case).into_iter().collect())
}
