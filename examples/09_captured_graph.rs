//! A captured graph that owns its memory. The graph computes y ← y + 2x with a temporary. It is
//! captured once and replayed with new inputs.
//!
//! The body of a capture runs twice. A dry run measures the bytes that the body needs, and the
//! captured run uses memory that was planned from these measurements. Arrays of the capture's scope
//! have the same address in all replays.
//!
//! `cargo run --features device --example 09_captured_graph -- [--simulated]`. Without a device,
//! the example uses the simulated driver.

use std::error::Error;

use clap::Parser;
use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use pool_facade::pool_cuda::{DeviceView, DeviceViewMut};
use pool_facade::pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, DeviceMemory, GraphPoolConfig,
};
use pool_facade::prelude::*;
use pool_kernels::elementwise;

const ELEMENTS: usize = 1000;

#[derive(Parser)]
struct Arguments {
    /// Use the simulated driver even if there is a device.
    #[arg(long)]
    simulated: bool,
}

/// Computes y ← y + 2x with a temporary from the scope. The same function also runs outside a
/// capture.
fn step(
    scope: &Scope<'_, Cuda>,
    axpy: &CudaFunction,
    x: &DeviceView<'_, f32>,
    y: &mut DeviceViewMut<'_, f32>,
) -> Result<(), CaptureError> {
    let grid = pool_kernels::Launch::over_elements(x.len());
    let launch = LaunchConfig { grid_dim: grid.grid, block_dim: grid.block, shared_mem_bytes: 0 };
    let count = x.len() as u64;
    let mut twice = scope.try_acquire_zeroed::<f32, _>(x.len())?;
    // SAFETY: here and below, the arguments match the parameters of `AXPY`, and all views hold
    // `count` elements.
    unsafe { scope.launch(axpy).arg(&2.0_f32).arg(x).arg(&mut twice).arg(&count).launch(launch) }?;
    // SAFETY: the arguments match the parameters of `AXPY`, and all views hold `count` elements.
    unsafe { scope.launch(axpy).arg(&1.0_f32).arg(&twice).arg(y).arg(&count).launch(launch) }?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let device = pool_examples::open(arguments.simulated)?;
    let axpy = pool_examples::kernel(&device, elementwise::MODULE, elementwise::AXPY.f32)?;
    let stream = device.context().new_stream()?;

    // Inputs and outputs are blocks of a pool. The graph leases these blocks, so they stay
    // allocated while the graph may run. A chunk is 16 MiB, or smaller if the maximum leaves less
    // room.
    let config = GraphPoolConfig { initial: 0, maximum: 1 << 20 };
    let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(&device), config);
    let bytes = (ELEMENTS * size_of::<f32>()) as u64;
    let (input, output) = (pool.allocate(bytes)?, pool.allocate(bytes)?);
    let session = CaptureSession::new(&stream)?.lease(pool.lease(&[input.id(), output.id()])?);

    let body = |capture: &Capture<'_>, (): &mut ()| -> Result<(), CaptureError> {
        let (mut x, mut y) = (capture.block::<f32>(&input)?, capture.block::<f32>(&output)?);
        let x = capture.lend(capture.main(), &mut x)?;
        let mut y = capture.lend(capture.main(), &mut y)?;
        capture.scope(capture.main(), |scope| step(scope, &axpy, &x.view()?, &mut y.view_mut()?))
    };
    let probe = session.probe(&mut (), body)?;
    let mut graph = session.planned(&probe)?.capture((), body)?;
    graph.write(&output, &[0.0_f32; ELEMENTS])?;

    let mut expected = 0.0;
    for sample in [1.0_f32, 10.0, 100.0] {
        graph.write(&input, &[sample; ELEMENTS])?;
        graph.replay()?;
        let mut found = [0.0_f32; ELEMENTS];
        graph.read(&output, &mut found)?;
        expected += 2.0 * sample;
        println!("after {sample}: {} everywhere", found[0]);
        if found != [expected; ELEMENTS] {
            return Err(format!("expected {expected}").into());
        }
    }
    println!("{}", pool.stats());
    Ok(())
}
