//! The heat equation in two dimensions, solved with implicit time steps. One source serves the host
//! and devices, with 32-bit and 64-bit numbers.
//!
//! `cargo run --features device --example 16_heat_equation -- [--on host|device|simulator]
//! [--precision f32|f64] [--side N] [--steps N]`. Without flags, the example runs on every
//! available target, with both precisions. The `wgpu` feature adds `--on wgpu`. Each result is
//! compared with the host's result in double precision. The difference must be within a bound that
//! `Heat::bound` proves. No block may be allocated after the first step. The pictures are written
//! to `target/demo`.

mod picture;
mod problem;
mod stepper;
#[cfg(test)]
mod tests;

use std::error::Error;

use clap::Parser;
use pool_examples::algebra::{Precision, Target, TargetArguments, greatest_difference, run};

use problem::Heat;
use stepper::{History, Stepper};

/// The number of frames shown in addition to the first.
const FRAMES: usize = 3;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    targets: TargetArguments,
    /// The number of inner points along each side of the square.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=1024))]
    side: u16,
    /// The number of time steps.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(3..))]
    steps: u16,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let heat = Heat::new(arguments.side.into(), arguments.steps.into());
    let stepper = Stepper { heat: &heat, frames: FRAMES };
    let reference = run(&stepper, Target::Host, Precision::F64)?;
    for (target, precision) in arguments.targets.asked_for() {
        let history = run(&stepper, target, precision)?;
        let path =
            picture::write(&heat, &history.frames, &format!("heat-{target}-{precision}.png"))?;
        let error = greatest_difference(last(&history), &heat.exact(heat.steps));
        let difference = greatest_difference(last(&history), last(&reference));
        // Both results have an error.
        let allowed = heat.bound(&history, precision) + heat.bound(&reference, Precision::F64);
        println!(
            "{target}, {precision}: {} steps of at most {} iterations, error at most {error:.1e}, {} blocks \
             allocated; difference {difference:.1e}, of at most {allowed:.1e}: {}",
            heat.steps,
            history.most_iterations,
            history.growths,
            path.display(),
        );
        check(&history, difference, allowed)
            .map_err(|why| format!("{target}, {precision}: {why}"))?;
    }
    Ok(())
}

/// Returns the final temperatures.
fn last(history: &History) -> &[f64] {
    history.frames.last().map_or(&[], |(_, temperatures)| temperatures)
}

fn check(history: &History, difference: f64, allowed: f64) -> Result<(), &'static str> {
    if history.growths != history.growths_at_first {
        return Err("blocks were allocated after the first step");
    }
    if difference <= allowed { Ok(()) } else { Err("the result differs from the host's") }
}
