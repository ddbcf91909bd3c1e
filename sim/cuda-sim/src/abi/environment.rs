//! Settings from environment variables, for a driver that is not controlled by a test.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::settings::Settings;

/// Variables that only the test harness reads. The driver ignores them.
const OF_TESTS: &[&str] = &["CUDA_SIM_START", "CUDA_SIM_ORDERS", "CUDA_SIM_LEAKS"];

/// `true` if a variable had a value that the driver cannot use.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Reads the settings for a driver that a program loaded as an ordinary `libcuda.so`. Prints each
/// variable that cannot be parsed.
pub(super) fn settings() -> Settings {
    Settings::from_environment(OF_TESTS).unwrap_or_else(|error| {
        eprintln!("simulated driver: {error}");
        REFUSED.store(true, Ordering::Relaxed);
        Settings::default()
    })
}

/// Returns `true` if a variable could not be parsed. In this case `cuInit` fails.
pub(super) fn is_refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// Clears the error, because the settings were passed by a test and do not depend on the
/// environment.
pub(super) fn forget_refusal() {
    REFUSED.store(false, Ordering::Relaxed);
}
