//! Lists of crates for each check.

use tasks::imports::Crate;
use tasks::quick::Profile;

/// The crates that are published.
pub(crate) const PUBLISHED: &[&str] = &["cuda-sim", "cuda-sim-test"];

/// Integration tests that `cargo xtask quick` skips, because all of them need
/// `cargo xtask sim-test`.
const SLOW_SUITES: &[(&str, &str)] =
    &[("cuda-sim-control", "simulator"), ("driver-conformance", "driver_conformance")];

/// The crates whose modules are compared with their layering.
pub(crate) const CHECKED: &[Crate<'_>] = &[
    Crate { name: "cuda-sim", root: "cuda-sim/src/lib.rs" },
    Crate { name: "cuda-sim-control", root: "cuda-sim-control/src/lib.rs" },
    Crate { name: "cuda-sim-test", root: "cuda-sim-test/src/lib.rs" },
    Crate { name: "driver-conformance", root: "driver-conformance/src/lib.rs" },
    Crate { name: "xtask", root: "xtask/src/main.rs" },
];

/// Returns the profile of `cargo xtask quick`.
pub(crate) fn quick() -> Profile {
    Profile { features: Vec::new(), slow_suites: SLOW_SUITES, others: &[] }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde::Deserialize;
    use tasks::crates::Crates;
    use tasks::workspace::{self, Workspace};

    use super::{PUBLISHED, SLOW_SUITES};

    #[derive(Deserialize)]
    struct Manifests {
        packages: Vec<Package>,
    }

    #[derive(Deserialize)]
    struct Package {
        name: String,
        features: BTreeMap<String, Vec<String>>,
        /// The registries to which the crate may be published. The list is empty for
        /// `publish = false`.
        publish: Option<Vec<String>>,
    }

    #[test]
    fn every_published_crate_is_listed_and_no_crate_has_features() {
        let manifests: Manifests = workspace::describe().unwrap();
        assert!(manifests.packages.iter().all(|package| package.features.is_empty()));
        let published = manifests.packages.into_iter().filter(|package| package.publish.is_none());
        let published: BTreeSet<String> = published.map(|package| package.name).collect();
        assert_eq!(published, PUBLISHED.iter().copied().map(str::to_owned).collect());
    }

    #[test]
    fn every_slow_suite_exists() {
        let workspace: Workspace = workspace::describe().unwrap();
        let crates = Crates::of(&workspace.root).unwrap();
        for &(package, suite) in SLOW_SUITES {
            let of_name = |one: &&tasks::crates::Crate| {
                one.name == package && one.workspace == workspace.root
            };
            let found = crates.iter().find(of_name);
            assert!(
                found.is_some_and(|one| one.suites.iter().any(|own| own.name == suite)),
                "{package}"
            );
        }
    }
}
