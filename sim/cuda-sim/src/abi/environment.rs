//! What the driver is like where nothing controls it: settings by variables of the environment.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::settings::Settings;

/// Variables that say something to whoever tests with the simulator, and nothing to a driver.
const OF_TESTS: &[&str] = &["CUDA_SIM_START", "CUDA_SIM_ORDERS", "CUDA_SIM_LEAKS"];

/// A variable says what no driver can be like.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The settings of a driver that a program has loaded as it would load any. What cannot be understood is printed.
pub(super) fn settings() -> Settings {
    Settings::from_environment(OF_TESTS).unwrap_or_else(|error| {
        eprintln!("simulated driver: {error}");
        REFUSED.store(true, Ordering::Relaxed);
        Settings::default()
    })
}

/// Whether a variable could not be understood: such a driver cannot be initialised.
pub(super) fn is_refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// Settings came from elsewhere, so the environment does not matter.
pub(super) fn forget_refusal() {
    REFUSED.store(false, Ordering::Relaxed);
}
