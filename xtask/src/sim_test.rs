//! `cargo xtask sim-test`: selects the tests of this workspace that run on the simulated CUDA
//! driver.

use std::process::ExitCode;

use cuda_tasks::sim_test::{self, Arguments, Suites};

use crate::TaskError;
use crate::gpu_test::holds_gpu_tests;
use crate::test::features::ALL_FEATURES;

/// The crates that contain such tests. In `sim/`, `cargo xtask sim-test` runs the simulator's own
/// tests.
const PACKAGES: &[&str] = &["pool-kernels", "device-tests", "pool-encoder"];

/// Runs the tests.
///
/// # Errors
///
/// Fails if the programs cannot be built or started, or if there is no test. A failed test is not
/// returned as an error: it sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let suites =
        Suites { packages: PACKAGES, features: ALL_FEATURES, asks_the_loader: holds_gpu_tests };
    sim_test::run(arguments, &suites)
}

#[cfg(test)]
mod tests {
    use super::PACKAGES;
    use tasks::workspace;

    #[derive(serde::Deserialize)]
    struct Manifests {
        packages: Vec<Package>,
    }

    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
    }

    #[test]
    fn every_crate_named_here_is_in_the_workspace() {
        let manifests: Manifests = workspace::describe().unwrap();
        for own in PACKAGES {
            assert!(manifests.packages.iter().any(|package| package.name == *own), "{own}");
        }
    }
}
