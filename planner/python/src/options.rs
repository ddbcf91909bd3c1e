//! Builds the options of the planner from numbers passed by Python.

use std::time::Duration;

use pool_plan::Options;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The maximum number of threads. No machine has more, and the system would refuse further threads
/// one by one.
const MOST_THREADS: usize = 1024;

/// The arguments of `plan` and `replay`.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    capacity: Option<u64>,
    budget: f64,
    rounds: Option<u32>,
    tolerance: f64,
    seed: u64,
    threads: usize,
}

impl Wanted {
    /// Returns the options if the numbers are valid.
    pub(crate) fn options(&self) -> PyResult<Options> {
        let budget = Duration::try_from_secs_f64(self.budget).map_err(|error| {
            PyValueError::new_err(format!(
                "budget {} is not a time in seconds: {error}",
                self.budget
            ))
        })?;
        if !(1..=MOST_THREADS).contains(&self.threads) {
            let message =
                format!("threads is {}, but must be from 1 to {MOST_THREADS}", self.threads);
            return Err(PyValueError::new_err(message));
        }
        let Self { capacity, rounds, tolerance, seed, threads, .. } = *self;
        Ok(Options { capacity, budget, rounds, tolerance, seed, threads })
    }
}
