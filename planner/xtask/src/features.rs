//! The feature sets that are checked, stored as data, and the crates that are published.

use tasks::features::FeatureSet;
use tasks::quick::Profile;

/// The feature sets that clippy checks, one run each, in addition to the whole workspace with all
/// features.
pub(crate) const CLIPPY_SETS: &[FeatureSet] = &[FeatureSet::with("pool-replay", &[])];

/// The crates that are published.
pub(crate) const PUBLISHED: &[&str] = &["pool-plan-cli", "pool-replay"];

/// The features that a whole-workspace command enables.
pub(crate) const ALL_FEATURES: &str = "pool-replay/clap,pool-replay/export";

/// The checks that `cargo xtask quick` runs.
pub(crate) fn quick() -> Profile {
    Profile { features: ALL_FEATURES.split(',').collect(), slow_suites: &[], others: &[] }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use serde::Deserialize;
    use tasks::workspace;

    use super::{ALL_FEATURES, PUBLISHED};

    #[derive(Deserialize)]
    struct Manifests {
        packages: Vec<Package>,
    }

    #[derive(Deserialize)]
    struct Package {
        name: String,
        features: BTreeMap<String, Vec<String>>,
        /// The registries to which the crate may be published. The list is empty for `publish =
        /// false`.
        publish: Option<Vec<String>>,
    }

    #[test]
    fn every_feature_of_the_manifests_is_tested() {
        let manifests: Manifests = workspace::describe().unwrap();
        let declared: BTreeSet<String> = manifests
            .packages
            .iter()
            .flat_map(|package| {
                package.features.keys().map(|feature| format!("{}/{feature}", package.name))
            })
            .filter(|feature| !feature.ends_with("/default"))
            .collect();
        assert_eq!(declared, ALL_FEATURES.split(',').map(str::to_owned).collect());
    }

    #[test]
    fn every_feature_stands_on_the_pages_of_its_crate() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (package, feature) in ALL_FEATURES.split(',').filter_map(|one| one.split_once('/')) {
            for page in ["README.md", "src/lib.rs"] {
                let text = std::fs::read_to_string(root.join(package).join(page)).unwrap();
                let row = format!("| `{feature}`");
                assert!(text.contains(&row), "{page} of {package} lacks `{feature}`");
            }
        }
    }

    #[test]
    fn every_published_crate_is_listed() {
        let manifests: Manifests = workspace::describe().unwrap();
        let published: BTreeSet<String> = manifests
            .packages
            .into_iter()
            .filter(|package| package.publish.is_none())
            .map(|package| package.name)
            .collect();
        assert_eq!(published, PUBLISHED.iter().copied().map(str::to_owned).collect());
    }
}
