//! The conjugate-gradient method for a sparse matrix, written once, generic over the backend, and run on
//! the host or on a device by a flag: the same answer.
//!
//! `cargo run --example conjugate_gradient -- [--on host|device|simulator] [--side N]`; without a flag on
//! a device, or on the simulated driver where there is none. The answer is compared with the host's.

mod device;
mod host;
mod poisson;
mod solver;
#[path = "../support/mod.rs"]
mod support;

use std::error::Error;

use clap::{Parser, ValueEnum};
use pool_facade::{Cpu, Cuda, Pool};

use poisson::Poisson;
use solver::{Solution, solve};

#[derive(Parser)]
struct Arguments {
    /// Where to solve.
    #[arg(long, value_enum)]
    on: Option<Place>,
    /// Points along each side of the square.
    #[arg(long, default_value_t = 24)]
    side: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Place {
    Host,
    Device,
    Simulator,
}

/// Where the residual has become this much smaller, the answer is good.
const TOLERANCE: f64 = 1e-12;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let problem = Poisson::on_a_square(arguments.side);
    let host = solve_on_host(&problem)?;
    report("host", &problem, &host);
    if arguments.on == Some(Place::Host) {
        return Ok(());
    }
    let there = solve_on_device(&problem, arguments.on)?;
    report("device", &problem, &there);
    let pairs = host.x.iter().zip(&there.x);
    let difference = pairs.map(|(one, two)| (one - two).abs()).fold(0.0, f64::max);
    println!("the two differ by at most {difference:.1e}");
    if difference < 1e-9 { Ok(()) } else { Err("the two answers are not the same".into()) }
}

fn solve_on_host(problem: &Poisson) -> Result<Solution, Box<dyn Error>> {
    let mut pool = Pool::<Cpu>::new(());
    Ok(solve(&host::Loops, &mut pool.scope(), problem, TOLERANCE)?)
}

fn solve_on_device(problem: &Poisson, on: Option<Place>) -> Result<Solution, Box<dyn Error>> {
    let device = match on {
        Some(Place::Device) => Cuda::device(0)?,
        other => support::open(other == Some(Place::Simulator))?,
    };
    let kernels = device::Kernels::load(&device)?;
    let mut pool = Pool::<Cuda>::new(device.new_stream()?);
    Ok(solve(&kernels, &mut pool.scope(), problem, TOLERANCE)?)
}

fn report(place: &str, problem: &Poisson, solution: &Solution) {
    println!(
        "{place}: {} unknowns, {} iterations, residual {:.1e}, error at most {:.1e}, {} blocks \
         allocated",
        problem.rows(),
        solution.iterations,
        solution.residual,
        problem.error_of(&solution.x),
        solution.growths,
    );
}
