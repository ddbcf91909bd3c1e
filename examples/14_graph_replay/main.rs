//! A step of the conjugate-gradient method, captured once and replayed until the system is solved.
//! The result is bitwise equal to the result of launching the same kernels one by one. The step is
//! a single function over a scope, which runs both eagerly and in a capture. A second version uses
//! temporaries of the capture, which share bytes, in an arena with each policy.
//!
//! `cargo run --features device --example 14_graph_replay -- [--simulated] [--side N] [--record
//! FILE]`. The example uses a device, or the simulated driver if the flag requests it or if there
//! is no device. `pool-plan` reads the record (docs/replay.md).

mod kernels;
mod method;
#[path = "../13_conjugate_gradient/problem.rs"]
#[allow(dead_code, reason = "the other example uses the rest")]
mod problem;
mod step;

use std::error::Error;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use cudarc::driver::CudaStream;
use pool_facade::pool_cuda::{Cuda, CudaDevice};
use pool_facade::pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureSession, CapturedGraph, CudaArena,
    DeviceMemory, GraphPoolConfig, PreparedCapture,
};

use kernels::Kernels;
use method::Method;
use problem::Problem;

#[derive(Parser)]
struct Arguments {
    /// Use the simulated driver.
    #[arg(long)]
    simulated: bool,
    /// The number of points along each side of the square.
    #[arg(long, default_value_t = 8)]
    side: usize,
    /// The number of steps of the method.
    #[arg(long, default_value_t = 8)]
    steps: usize,
    /// The file to which the record of the planned graph is written.
    #[arg(long)]
    record: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let problem = Problem::poisson(arguments.side);
    let simulated = arguments.simulated || !Cuda::is_available();
    let device = pool_examples::open(simulated)?;
    let stream = device.context().new_stream()?;
    let pool = CUDAGraphMemoryPool::with_config(
        DeviceMemory::new(&device),
        GraphPoolConfig { initial: 0, maximum: u64::MAX },
    );
    let kernels = Kernels::load(&device)?;

    let (expected, bytes) = step::run_eagerly(&kernels, &stream, &problem, arguments.steps)?;
    println!("    eager: {bytes} bytes of temporaries");

    let mut solution = Vec::new();
    for policy in ["Scope", "Monotone", "Linear", "Planned"] {
        let method = Method::new(&pool, &problem)?;
        let mut graph = capture(policy, &device, &stream, &pool, &method, &kernels)?;
        method.write_start(&mut graph, &problem)?;
        graph.upload()?;
        let begin = Instant::now();
        for _ in 0..arguments.steps {
            graph.replay()?;
        }
        graph.synchronize()?;
        let time = begin.elapsed() / u32::try_from(arguments.steps.max(1))?;
        solution = vec![0.0_f64; problem.rows()];
        graph.read(&method.x, &mut solution)?;
        println!("{policy:>9}: {}", graph.footprint());
        if let (Some(path), "Planned", Some(record)) = (&arguments.record, policy, graph.record()) {
            record.write_to(File::create(path)?)?;
        }
        if !simulated {
            println!("{:>9}  {time:?} per step", "");
        }
        let same = solution.iter().zip(&expected).all(|(one, two)| one.to_bits() == two.to_bits());
        if !same {
            return Err(format!("{policy}: replayed and eager results differ").into());
        }
    }
    println!(
        "{} unknowns, {} steps: error at most {:.1e}, the replayed and eager results are bit-identical",
        problem.rows(),
        arguments.steps,
        problem.error_of(&solution),
    );
    Ok(())
}

/// Captures the step as a graph, in an arena with this policy.
fn capture(
    policy: &str,
    device: &CudaDevice,
    stream: &Arc<CudaStream>,
    pool: &CUDAGraphMemoryPool,
    method: &Method,
    kernels: &Kernels,
) -> Result<CapturedGraph, Box<dyn Error>> {
    let session = CaptureSession::new(stream)?.lease(pool.lease(&method.ids())?);
    let body = |capture: &Capture<'_>, (): &mut ()| match policy {
        "Scope" => method.step_in_a_scope(capture, kernels),
        _ => method.step(capture, kernels),
    };
    // The probe knows the required memory before any is allocated.
    let probe = session.probe(&mut (), body)?;
    let arena = |policy| -> Result<CudaArena, Box<dyn Error>> {
        Ok(CudaArena::new(DeviceMemory::new(device), probe.footprint().sum, policy)?)
    };
    let prepared: PreparedCapture = match policy {
        "Monotone" => session.prepare(arena(ArenaPolicy::Monotone)?)?,
        "Linear" => session.prepare(arena(ArenaPolicy::Linear)?)?,
        _ => session.planned(&probe)?,
    };
    Ok(prepared.capture((), body)?)
}
