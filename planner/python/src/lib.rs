//! The native part of the Python module `pool_plan`: arrays and options in, plans and reports out.
//!
//! Python's side (`pool_plan/*.py`) checks types and makes objects of the results. Long work runs
//! on another thread, without the interpreter's lock, and Ctrl-C ends it.

// The macros of pyo3 define their exports as further items.
#![allow(missing_docs)]

mod errors;
mod options;
mod plan;
mod replay;
mod watch;

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
