//! Computes y ← a·x + y on a device, repeatedly, with the same two temporaries.
//!
//! `cargo run --features device --example 07_device -- [--simulated] [--elements N]`. Without a
//! device, the example uses the simulated driver, whose results are correct but whose speed is
//! meaningless.

use std::error::Error;

use clap::Parser;
use cudarc::driver::{LaunchConfig, PushKernelArg};
use pool_facade::pool_cuda::{Cuda, Launch};
use pool_facade::{Pool, PoolView};
use pool_kernels::elementwise;

#[derive(Parser)]
struct Arguments {
    /// Use the simulated driver even if there is a device.
    #[arg(long)]
    simulated: bool,
    /// The number of elements of each array.
    #[arg(long, default_value_t = 10_000)]
    elements: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let device = pool_examples::open(arguments.simulated)?;
    let saxpy = pool_examples::kernel(&device, elementwise::MODULE, elementwise::AXPY.f32)?;
    let mut pool = Pool::<Cuda>::new(device.new_stream()?);

    let grid = pool_kernels::Launch::over_elements(arguments.elements);
    let launch = LaunchConfig { grid_dim: grid.grid, block_dim: grid.block, shared_mem_bytes: 0 };
    let count = arguments.elements as u64;
    for factor in [1.0_f32, 2.0, 3.0] {
        let scope = pool.scope();
        let x = scope.try_acquire_filled(arguments.elements, 10.0_f32)?;
        let mut y = scope.try_acquire_filled(arguments.elements, 1.0_f32)?;
        // SAFETY: the arguments match the parameters of `AXPY`, in order, and both views hold
        // `count` elements.
        unsafe {
            scope.launch(&saxpy).arg(&factor).arg(&x).arg(&mut y).arg(&count).launch(launch)
        }?;
        let found = y.copy_to_vec()?;
        let right = found.iter().all(|element| *element == 10.0 * factor + 1.0);
        println!("{factor} * 10 + 1 = {} everywhere: {right}", found.first().unwrap_or(&0.0));
        if !right {
            return Err("the device computed a different result".into());
        }
    } // the second and third passes allocate nothing
    println!("{}", pool.stats());
    Ok(())
}
