//! Dopri5 on vectors of a length known at run time: each step of the original allocates about fifty
//! of them.

use std::process::ExitCode;

use adoption_measure::{Case, run};
use original::DVector;

/// The system of Lorenz 1996, a ring of places driven by their neighbours.
struct Ring;

fn derivative(y: &DVector<f64>, dy: &mut DVector<f64>) {
    let n = y.len();
    for i in 0..n {
        let (before, after) = ((i + n - 1) % n, (i + 1) % n);
        dy[i] = (y[after] - y[(i + n - 2) % n]) * y[before] - y[i] + 8.0;
    }
}

fn start(n: usize) -> DVector<f64> {
    DVector::from_fn(n, |i, _| 8.0 + (i % 5) as f64 * 0.01)
}

/// Returns the times and states in the output of a solver.
fn bits(result: &(Vec<f64>, Vec<DVector<f64>>)) -> Vec<u64> {
    let (times, states) = result;
    times.iter().chain(states.iter().flat_map(|state| state.iter())).map(|x| x.to_bits()).collect()
}

/// The same integration by either crate. Its output has to be copied out of the solver.
macro_rules! integration {
    ($version:ident, $n:expr, $end:expr, $interval:expr) => {{
        impl $version::System<f64, DVector<f64>> for Ring {
            fn system(&self, _: f64, y: &DVector<f64>, dy: &mut DVector<f64>) {
                derivative(y, dy);
            }
        }
        let y = start($n);
        move || {
            let mut solver =
                $version::Dopri5::new(Ring, 0.0, $end, $interval, y.clone(), 1e-6, 1e-6);
            let ended = solver.integrate();
            assert!(ended.is_ok(), "{ended:?}");
            (solver.x_out().clone(), solver.y_out().clone())
        }
    }};
}

fn case(n: usize, end: f64, interval: f64) -> Case<'static> {
    Case::new(format!("Dopri5, n = {n}, to {end}, output each {interval}"))
        .version("original", integration!(original, n, end, interval), bits)
        .version("pool", integration!(pool, n, end, interval), bits)
        .version("kept", integration!(kept, n, end, interval), bits)
}

fn main() -> ExitCode {
    run(vec![case(8, 2.0, 0.1), case(64, 2.0, 0.1), case(4_096, 1.0, 0.5)])
}
