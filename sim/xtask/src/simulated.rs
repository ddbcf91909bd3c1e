//! `cargo xtask sim-test`: runs the tests of this workspace that use the simulated CUDA driver.

use cuda_tasks::sim_test::Suites;
use tasks::programs::Artifact;

/// The crates that contain such tests. Their features do not affect the tests.
pub(crate) const SUITES: Suites = Suites {
    packages: &["cuda-sim-control", "driver-conformance"],
    features: &[],
    asks_the_loader: asks_a_driver,
};

/// Returns `true` for the program with the driver questions, which run on any driver that the
/// loader finds.
fn asks_a_driver(artifact: &Artifact) -> bool {
    artifact.target.name == "driver_conformance" && artifact.target.is("test")
}

#[cfg(test)]
mod tests {
    use tasks::workspace::{self, Workspace};

    use super::SUITES;

    #[test]
    fn every_crate_named_here_is_in_the_workspace() {
        let workspace: Workspace = workspace::describe().unwrap();
        for own in SUITES.packages {
            assert!(workspace.version_of(own).is_some(), "{own}");
        }
    }
}
