//! `cargo xtask quick`: checks the changed crates in the root workspace, and runs the same task in
//! the workspaces of the planner and the simulator.

use std::process::ExitCode;

use tasks::quick::{self, Arguments, Profile};

use crate::TaskError;
use crate::test::features::ALL_FEATURES;

/// Integration tests that do not run after each edit. One takes 22 s of processor time, and two are
/// empty without `cfg(loom)`. In the others, all but a few tests are ignored unless
/// `cargo xtask sim-test` runs them on the simulated driver. The remaining suites take at most 17 s
/// with the number of random programs that [`tasks::quick`] sets.
const SLOW_SUITES: &[(&str, &str)] = &[
    ("pool-core", "interleavings"),
    ("pool-graph", "large_graphs"),
    ("pool-graph", "interleavings"),
    ("device-tests", "*"),
];

/// Checks the changed crates.
///
/// # Errors
///
/// Fails if the changed files cannot be determined. A failed check is not returned as an error: it
/// sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let profile = Profile {
        features: ALL_FEATURES.to_vec(),
        slow_suites: SLOW_SUITES,
        others: &["planner", "sim"],
    };
    quick::run(arguments, profile)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tasks::crates::Crates;

    use super::SLOW_SUITES;
    use crate::test::features::ALL_FEATURES;

    #[test]
    fn every_suite_is_built() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        let crates = Crates::of(&root).unwrap();
        for one in crates.iter().filter(|one| one.workspace == root) {
            for suite in &one.suites {
                assert!(one.builds(suite, ALL_FEATURES), "{} has {}", one.name, suite.name);
            }
        }
    }

    #[test]
    fn every_slow_suite_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        let crates = Crates::of(&root).unwrap();
        for &(package, suite) in SLOW_SUITES {
            let of_name = crates.iter().find(|one| one.name == package && one.workspace == root);
            let suites = &of_name.unwrap_or_else(|| panic!("no crate {package}")).suites;
            assert!(
                suites.iter().any(|own| own.name == suite || suite == "*"),
                "{package} has no {suite}"
            );
        }
    }
}
