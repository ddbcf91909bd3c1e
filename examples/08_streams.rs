//! Memory of a pool, used on another stream. The pool orders the other stream's work before and
//! after.
//!
//! A pool has one stream. To use the pool's memory on another stream, pass that stream to the pool.
//! The pool makes the other stream wait before the use. It also makes its own stream wait before it
//! hands the memory out again.
//!
//! `cargo run --features device --example 08_streams -- [--simulated]`. Without a device, the
//! example uses the simulated driver.

use std::error::Error;

use clap::Parser;
use cudarc::driver::{LaunchConfig, PushKernelArg};
use pool_facade::Pool;
use pool_facade::pool_cuda::{Cuda, register_stream};
use pool_kernels::elementwise;

const ELEMENTS: usize = 10_000;

#[derive(Parser)]
struct Arguments {
    /// Use the simulated driver even if there is a device.
    #[arg(long)]
    simulated: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let device = pool_examples::open(arguments.simulated)?;
    let axpy = pool_examples::kernel(&device, elementwise::MODULE, elementwise::AXPY.f32)?;
    let mut pool = Pool::<Cuda>::new(device.new_stream()?);
    let other = device.context().new_stream()?;
    // Registers this stream with pools, so that streams can wait for each other on the device.
    // Without this call, the host would wait for the whole context.
    register_stream(&other);

    let grid = pool_kernels::Launch::over_elements(ELEMENTS);
    let launch = LaunchConfig { grid_dim: grid.grid, block_dim: grid.block, shared_mem_bytes: 0 };
    let count = ELEMENTS as u64;
    let mut total = other.alloc_zeros::<f32>(ELEMENTS)?;
    for pass in [1.0_f32, 2.0, 3.0] {
        // The array is filled on the pool's stream, and added to the total on the other stream.
        let scope = pool.scope();
        let mut term = scope.try_acquire_filled(ELEMENTS, pass)?;
        let term = term.on(&other)?;
        let mut kernel = other.launch_builder(&axpy);
        kernel.arg(&1.0_f32).arg(&term).arg(&mut total).arg(&count);
        // SAFETY: the arguments match the parameters of `AXPY`, in order, and both arrays hold
        // `count` elements.
        unsafe { kernel.launch(launch) }?;
    } // the next pass writes what the other stream reads, so the pool's stream waits for it

    let total = other.clone_dtoh(&total)?;
    if total.iter().any(|element| *element != 6.0) {
        return Err("the streams were not ordered".into());
    }
    println!("1 + 2 + 3 = {} everywhere", total[0]);
    println!("{}", pool.stats());
    Ok(())
}
