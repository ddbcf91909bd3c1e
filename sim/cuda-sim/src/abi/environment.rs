//! Settings by environment variables, for a driver that no test controls.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::settings::Settings;

/// Variables for the test harness. A driver ignores them.
const OF_TESTS: &[&str] = &["CUDA_SIM_START", "CUDA_SIM_ORDERS", "CUDA_SIM_LEAKS"];

/// `true` after a variable had a value that no driver can have.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Reads the settings of a driver that a program loaded like any other. Prints each variable that
/// it cannot parse.
pub(super) fn settings() -> Settings {
    Settings::from_environment(OF_TESTS).unwrap_or_else(|error| {
        eprintln!("simulated driver: {error}");
        REFUSED.store(true, Ordering::Relaxed);
        Settings::default()
    })
}

/// Returns `true` if a variable could not be parsed. Such a driver cannot be initialised.
pub(super) fn is_refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// Forgets the error: the settings came from elsewhere, so the environment does not count.
pub(super) fn forget_refusal() {
    REFUSED.store(false, Ordering::Relaxed);
}
