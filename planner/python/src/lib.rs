//! The native part of the Python module `pool_plan`. It takes arrays and options, and returns plans
//! and reports.
//!
//! The Python part (`pool_plan/*.py`) checks types and converts the results to objects. Long
//! computations run on another thread, without the interpreter's lock, and Ctrl-C stops them.

// The macros of pyo3 generate items for everything that they export.
#![allow(missing_docs)]

mod errors;
mod options;
mod plan;
mod replay;
mod watch;
mod words;

use pyo3::prelude::*;

/// The functions that `pool_plan/*.py` calls.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::plan::plan;
    #[pymodule_export]
    use super::replay::replay;

    /// The version of the planner.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
