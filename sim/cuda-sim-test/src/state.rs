//! The options of the simulator that runs in this process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::options::Options;

/// `None` until the simulator has been started.
static RUNNING: Mutex<Option<Options>> = Mutex::new(None);

/// Returns the locked options. The lock ensures that only one thread starts the simulator.
pub(crate) fn running_options() -> MutexGuard<'static, Option<Options>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
