//! `cargo xtask sim-test`: which tests of this workspace run on the simulated CUDA driver.

use cuda_tasks::sim_test::Suites;
use tasks::programs::Artifact;

/// The crates with such tests. No crate has features that take part.
pub(crate) const SUITES: Suites = Suites {
    packages: &["cuda-sim-control", "driver-conformance"],
    features: &[],
    asks_the_loader: asks_a_driver,
};

/// The questions to a driver are for whatever driver the loader finds.
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
