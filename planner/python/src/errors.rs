//! Converts errors of the planner to exceptions of `pool_plan/_errors.py`. Each exception has its
//! numbers as attributes.

use pool_plan::PlanError;
use pool_replay::LogError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The module that defines the exceptions.
const MODULE: &str = "pool_plan._errors";

/// Returns the exception for an error of the planner.
pub(crate) fn of_plan(py: Python<'_>, error: &PlanError) -> PyErr {
    let message = pool_plan::error_chain(error);
    let numbers = PyDict::new(py);
    let (class, numbered) = match error {
        PlanError::Infeasible { capacity, bound, witness } => {
            let set = numbers.set_item("capacity", capacity).and_then(|()| {
                numbers.set_item("bound", bound)?;
                numbers.set_item("witness", witness)
            });
            ("InfeasibleError", set)
        }
        PlanError::ProvedInfeasible { capacity, bound, best } => {
            ("InfeasibleError", within(&numbers, *capacity, *bound, *best))
        }
        PlanError::NotFound { capacity, bound, best } => {
            ("NotFoundError", within(&numbers, *capacity, *bound, *best))
        }
        PlanError::TooMany { what, count, limit } => {
            let set = numbers.set_item("what", what).and_then(|()| {
                numbers.set_item("count", count)?;
                numbers.set_item("limit", limit)
            });
            ("TooManyError", set)
        }
        PlanError::Rejected(_) | PlanError::Internal { .. } => ("InternalError", Ok(())),
        _ => ("ProblemError", Ok(())),
    };
    numbered.map_or_else(|error| error, |()| exception(py, class, &message, &numbers))
}

/// Returns the exception for an error of a log. If the file cannot be read, this is an `OSError`.
pub(crate) fn of_log(py: Python<'_>, error: LogError) -> PyErr {
    let message = pool_plan::error_chain(&error);
    let numbers = PyDict::new(py);
    let numbered = match &error {
        LogError::Line { line, .. } => numbers.set_item("line", line),
        LogError::Pickle { offset, .. } => numbers.set_item("byte", offset),
        LogError::Snapshot { place, .. } => numbers.set_item("place", place),
        _ => Ok(()),
    };
    if let LogError::Io(error) = error {
        return error.into();
    }
    numbered.map_or_else(|error| error, |()| exception(py, "LogError", &message, &numbers))
}

fn within(numbers: &Bound<'_, PyDict>, capacity: u64, bound: u64, best: u64) -> PyResult<()> {
    numbers.set_item("capacity", capacity)?;
    numbers.set_item("bound", bound)?;
    numbers.set_item("best", best)
}

fn exception(py: Python<'_>, class: &str, message: &str, numbers: &Bound<'_, PyDict>) -> PyErr {
    let made = || py.import(MODULE)?.getattr(class)?.call((message,), Some(numbers));
    made().map_or_else(|error| error, PyErr::from_value)
}
