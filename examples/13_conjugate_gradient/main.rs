//! The conjugate-gradient method for a sparse matrix, written once, generic over the backend, and run on
//! the host or on a device by a flag: the same answer.
//!
//! `cargo run --features device --example 13_conjugate_gradient -- [--on host|device|simulator] [--matrix FILE | --side N]`;
//! without a flag on a device, or on the simulated driver where there is none. The answer is compared with
//! the host's.
//!
//! The matrix is one of the `SuiteSparse` collection by default, [where it is from](matrices/README.md), any
//! other Matrix Market file by name, or that of Poisson's equation on a square. It must be symmetric and
//! definite.

mod device;
mod host;
mod matrix_market;
mod problem;
mod solver;

use std::error::Error;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use pool_facade::{Cpu, Cuda, Pool};

use problem::Problem;
use solver::{Solution, solve};

#[derive(Parser)]
struct Arguments {
    /// Where to solve.
    #[arg(long, value_enum)]
    on: Option<Place>,
    /// A Matrix Market file; without one, `Bai/bfwb62` of the `SuiteSparse` collection.
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Poisson's equation on a square instead, with so many points along each side.
    #[arg(long, value_name = "N", conflicts_with = "matrix")]
    side: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Place {
    Host,
    Device,
    Simulator,
}

/// Where the residual has become this much smaller, the answer is good.
const TOLERANCE: f64 = 1e-12;

/// The matrix `Bai/bfwb62`.
const WAVEGUIDE: &str = include_str!("matrices/bfwb62.mtx");

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let problem = problem_of(&arguments)?;
    let host = solve_on_host(&problem)?;
    report("host", &problem, &host)?;
    if arguments.on == Some(Place::Host) {
        return Ok(());
    }
    let there = solve_on_device(&problem, arguments.on)?;
    report("device", &problem, &there)?;
    let pairs = host.x.iter().zip(&there.x);
    let difference = pairs.map(|(one, two)| (one - two).abs()).fold(0.0, f64::max);
    println!("the two differ by at most {difference:.1e}");
    if difference < 1e-9 { Ok(()) } else { Err("the two answers are not the same".into()) }
}

fn problem_of(arguments: &Arguments) -> Result<Problem, Box<dyn Error>> {
    if let Some(side) = arguments.side {
        return Ok(Problem::poisson(side));
    }
    let Some(path) = &arguments.matrix else {
        return Ok(matrix_market::parse(WAVEGUIDE)?);
    };
    let text = std::fs::read_to_string(path)?;
    Ok(matrix_market::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn solve_on_host(problem: &Problem) -> Result<Solution, Box<dyn Error>> {
    let mut pool = Pool::<Cpu>::new(());
    Ok(solve(&host::Loops, &mut pool.scope(), problem, TOLERANCE)?)
}

fn solve_on_device(problem: &Problem, on: Option<Place>) -> Result<Solution, Box<dyn Error>> {
    let device = match on {
        Some(Place::Device) => Cuda::device(0)?,
        other => pool_examples::open(other == Some(Place::Simulator))?,
    };
    let kernels = device::Kernels::load(&device)?;
    let mut pool = Pool::<Cuda>::new(device.new_stream()?);
    Ok(solve(&kernels, &mut pool.scope(), problem, TOLERANCE)?)
}

fn report(place: &str, problem: &Problem, solution: &Solution) -> Result<(), Box<dyn Error>> {
    println!(
        "{place}: {} unknowns, {} iterations, residual {:.1e}, error at most {:.1e}, {} blocks \
         allocated",
        problem.rows(),
        solution.iterations,
        solution.residual,
        problem.error_of(&solution.x),
        solution.growths,
    );
    if solution.residual <= TOLERANCE {
        return Ok(());
    }
    Err(format!("{place}: as many iterations as unknowns were not enough: is the matrix definite?")
        .into())
}
