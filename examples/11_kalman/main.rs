//! Runs a Kalman filter and smoother on the Nile series, with and without a pool.
//!
//! ```text
//! cargo run --release --example 11_kalman
//! ```

#[cfg(test)]
mod tests;
mod workload;

use std::error::Error;

use pool_facade::prelude::*;
use workload::{StateSpace, allocating, check, nile, pooled};

fn main() -> Result<(), Box<dyn Error>> {
    let years = nile::series()?;
    let flows: Vec<f64> = years.iter().map(|year| year.flow).collect();
    let model = StateSpace::local_level(flows[0]);

    let expected = allocating::smooth(&model, &flows)?;
    with_pool!(|scope| {
        let smoothed = pooled::smooth(&mut scope, &model, &flows)?;
        check(&expected, &smoothed)?;

        println!("year  flow  filtered  smoothed");
        let levels = smoothed.filtered.years().zip(smoothed.smoothed.years());
        for (year, (filtered, level)) in years.iter().zip(levels).step_by(9) {
            let (filtered, level) = (filtered.state.values[0], level.state.values[0]);
            println!("{}  {:4}  {filtered:8.1}  {level:8.1}", year.year, year.flow);
        }
        println!("\nlog-likelihood {:.3}, identical in both versions\n", smoothed.log_likelihood);
        println!("{}", scope.stats());
    });
    Ok(())
}
