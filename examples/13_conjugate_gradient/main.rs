//! The conjugate-gradient method for a sparse matrix. One source serves the host and devices, with
//! 32-bit and 64-bit numbers.
//!
//! `cargo run --features device --example 13_conjugate_gradient -- [--on host|device|simulator]
//! [--precision f32|f64] [--matrix FILE | --side N]`. Without flags, the example runs on every
//! available target, with both precisions. The `wgpu` feature adds `--on wgpu`. Each result is
//! compared with the host's result in double precision. The difference must be within a bound that
//! [`ConjugateGradientError`] proves.
//!
//! By default, the matrix comes from the `SuiteSparse` collection ([source](matrices/README.md)).
//! You can also name any other Matrix Market file, or choose the matrix of Poisson's equation on a
//! square. The matrix must be symmetric and definite.
//!
//! [`ConjugateGradientError`]: pool_examples::algebra::ConjugateGradientError

mod matrix_market;
mod problem;
mod solution;

use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use pool_examples::algebra::{
    Precision, Target, TargetArguments, greatest_difference, norm, tolerance,
};

use problem::Problem;
use solution::{Conditioning, Solution, solve_at};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    targets: TargetArguments,
    /// A Matrix Market file. The default is `Bai/bfwb62` from the `SuiteSparse` collection.
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Solve Poisson's equation on a square instead, with this number of points along each side.
    #[arg(long, value_name = "N", conflicts_with = "matrix", value_parser = clap::value_parser!(u16).range(1..))]
    side: Option<u16>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let problem = problem_of(&arguments)?;
    let conditioning = Conditioning::of(&problem.matrix)?;
    let reference = solve_at(Target::Host, Precision::F64, &problem.matrix, &problem.right)?;
    println!(
        "{} unknowns, condition {:.1e}",
        problem.rows(),
        conditioning.inverse_norm * problem.matrix.largest_row_sum()
    );
    let bound = |solution: &Solution, precision| {
        conditioning.bound(solution, precision, norm(&reference.x))
    };
    for (target, precision) in arguments.targets.asked_for() {
        let solution = solve_at(target, precision, &problem.matrix, &problem.right)?;
        check_end(&solution, precision)
            .map_err(|error| format!("{target}, {precision}: {error}"))?;
        let difference = greatest_difference(&solution.x, &reference.x);
        // Both results have an error.
        let allowed = bound(&solution, precision) + bound(&reference, Precision::F64);
        println!(
            "{target}, {precision}: {} iterations, residual {:.1e}, error at most {:.1e}, {} blocks allocated; \
             difference {difference:.1e}, of at most {allowed:.1e}",
            solution.convergence.iterations,
            solution.convergence.residual,
            problem.error_of(&solution.x),
            solution.growths,
        );
        if difference > allowed {
            return Err(format!("{target}, {precision}: the result differs from the host's").into());
        }
    }
    Ok(())
}

fn problem_of(arguments: &Arguments) -> Result<Problem, Box<dyn Error>> {
    if let Some(side) = arguments.side {
        return Ok(Problem::poisson(side.into()));
    }
    let Some(path) = &arguments.matrix else { return Ok(waveguide()?) };
    let text = std::fs::read_to_string(path)?;
    Ok(matrix_market::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// Returns the problem with the matrix `Bai/bfwb62`.
fn waveguide() -> Result<Problem, String> {
    matrix_market::parse(include_str!("matrices/bfwb62.mtx"))
}

/// Checks that the method ended because it converged.
fn check_end(solution: &Solution, precision: Precision) -> Result<(), String> {
    let tolerance = match precision {
        Precision::F32 => tolerance::<f32>(),
        Precision::F64 => tolerance::<f64>(),
    };
    if solution.convergence.residual <= tolerance {
        return Ok(());
    }
    let iterations = solution.convergence.iterations;
    Err(format!("no convergence after {iterations} iterations: is the matrix positive definite?"))
}
