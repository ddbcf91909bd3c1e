//! Lists of the feature sets that are checked.
//!
//! `--all-features` is never used, because a crate's features for different CUDA versions exclude
//! each other. A unit test below compares the lists with the manifests, so a new feature cannot be
//! forgotten.

use tasks::features::FeatureSet;

/// The sets that clippy checks in separate runs, in addition to the whole workspace with all
/// compatible features.
pub(crate) const CLIPPY_SETS: &[FeatureSet] = &[
    with("pool-core", &[]),
    with("pool-core", &["std"]),
    with("pool-cpu", &[]),
    with_defaults("pool-facade"),
    with("pool-facade", &[]),
    with("pool-facade", &["cuda"]),
    with("pool-facade", &["cuda", "graph"]),
    with("pool-facade", &["wgpu"]),
    with("pool-facade", &["cpu", "ndarray"]),
    with("pool-graph", &[]),
    with("pool-plan", &[]),
    with("pool-plan", &["record"]),
    with_defaults("pool-examples"),
];

/// The sets that clippy also checks with `--full`: other features by themselves, and code that no
/// other step builds.
pub(crate) const CLIPPY_SETS_IN_FULL: &[FeatureSet] = &[
    with("pool-core", &["allocator-api2"]),
    with("pool-core", &["half"]),
    with("pool-core", &["complex"]),
    with("pool-core", &["tracing"]),
    with("pool-cpu", &["ndarray"]),
    FeatureSet { package: "pool-cuda", default_features: true, features: &["any-cuda-version"] },
    FeatureSet { package: "pool-driver", default_features: true, features: &["any-cuda-version"] },
    with("pool-facade", &["cpu", "ndarray", "allocator-api2", "half", "complex", "tracing"]),
    with("pool-dlpack", &[]),
    with("pool-dlpack", &["half", "complex"]),
    with("pool-dlpack", &["cuda", "any-cuda-version"]),
    with("pool-facade", &["record"]),
    with("pool-facade", &["cpu", "dlpack"]),
    with("pool-graph", &["record"]),
    with("pool-graph", &["cuda", "any-cuda-version"]),
    with("pool-wgpu", &[]),
    with("pool-wgpu", &["vulkan", "metal", "dx12", "webgpu", "half"]),
    with("pool-plan", &["serde"]),
    with("pool-encoder", &[]),
    with("pool-encoder", &["cuda", "wgpu"]),
    with("pool-encoder", &["text"]),
    with("pool-encoder", &["bytes"]),
    with("pool-encoder", &["peers"]),
    with("pool-stream", &[]),
    with("pool-stream", &["bump-scope", "jemalloc", "mimalloc", "wgpu"]),
    with("pool-examples", &["device"]),
    with("pool-examples", &["wgpu"]),
];

/// Features of programs that no other build needs. One includes a tokenizer, and others include
/// allocators written in C.
#[cfg(test)]
const NOT_TESTED: &[&str] = &[
    "pool-encoder/bytes",
    "pool-encoder/peers",
    "pool-encoder/text",
    "pool-stream/jemalloc",
    "pool-stream/mimalloc",
];

/// The features that commands for the whole workspace enable. They are all compatible.
pub(crate) const ALL_FEATURES: &[&str] = &[
    "pool-core/allocator-api2",
    "pool-core/std",
    "pool-core/half",
    "pool-core/complex",
    "pool-core/tracing",
    "pool-cpu/ndarray",
    "pool-cuda/any-cuda-version",
    "pool-dlpack/any-cuda-version",
    "pool-dlpack/complex",
    "pool-dlpack/cuda",
    "pool-dlpack/half",
    "pool-driver/any-cuda-version",
    "pool-facade/allocator-api2",
    "pool-facade/cpu",
    "pool-facade/cuda",
    "pool-facade/dlpack",
    "pool-facade/graph",
    "pool-facade/record",
    "pool-facade/ndarray",
    "pool-facade/half",
    "pool-facade/complex",
    "pool-facade/tracing",
    "pool-facade/wgpu",
    "pool-graph/any-cuda-version",
    "pool-graph/cuda",
    "pool-graph/record",
    "pool-plan/record",
    "pool-plan/serde",
    "pool-wgpu/vulkan",
    "pool-wgpu/metal",
    "pool-wgpu/dx12",
    "pool-wgpu/webgpu",
    "pool-wgpu/half",
    "pool-encoder/cuda",
    "pool-encoder/wgpu",
    "pool-stream/bump-scope",
    "pool-stream/wgpu",
    "pool-examples/device",
    "pool-examples/wgpu",
];

/// Returns the features in [`ALL_FEATURES`] that belong to a crate, without the crate's name.
pub(crate) fn all_features_of(package: &str) -> Vec<&'static str> {
    let of_package = |feature: &&'static str| feature.strip_prefix(package)?.strip_prefix('/');
    ALL_FEATURES.iter().filter_map(of_package).collect()
}

/// Returns `true` if a feature in [`ALL_FEATURES`] belongs to this crate.
pub(crate) fn belongs(feature: &str, package: &str) -> bool {
    feature.strip_prefix(package).is_some_and(|rest| rest.starts_with('/'))
}

/// The crates and features that are built without the standard library.
pub(crate) const NO_STD_SETS: &[FeatureSet] = &[
    with("pool-core", &[]),
    with("pool-core", &["allocator-api2", "half", "complex", "tracing"]),
    with("pool-cpu", &[]),
    with("pool-cpu", &["ndarray"]),
];

/// The published crates in this workspace.
pub(crate) const LIBRARIES: &[&str] = &[
    "pool-core",
    "pool-conformance",
    "pool-cpu",
    "pool-cuda",
    "pool-dlpack",
    "pool-driver",
    "pool-facade",
    "pool-graph",
    "pool-plan",
    "pool-wgpu",
];

/// The published crates in the simulator's workspace.
pub(crate) const SIMULATOR: &[&str] = &["cuda-sim", "cuda-sim-test"];

/// The published crates in the planner's workspace.
pub(crate) const PLANNER: &[&str] = &["pool-plan-cli", "pool-replay"];

/// A crate and a feature that build wgpu, the largest dependency. A step that builds all libraries
/// in its own build directory only includes them with `--full`.
pub(crate) const WITH_WGPU: &[&str] = &["pool-wgpu", "pool-facade/wgpu"];

/// The libraries whose default features leave out code that a build of the whole workspace
/// includes.
pub(crate) const WITH_PLAIN_DEFAULTS: &[&str] = &["pool-core", "pool-cpu", "pool-facade"];

/// The crates and features that need a newer compiler than the oldest supported one, because of
/// cudarc, dlpark or wgpu.
pub(crate) const MSRV_EXEMPT: &[&str] = &[
    "pool-cuda",
    "pool-dlpack",
    "pool-driver",
    "pool-graph",
    "pool-wgpu",
    "pool-dlpack/any-cuda-version",
    "pool-dlpack/cuda",
    "pool-facade/cuda",
    "pool-facade/dlpack",
    "pool-facade/graph",
    "pool-facade/record",
    "pool-facade/wgpu",
];

/// The crates whose unsafe code runs under Miri and the sanitizers.
pub(crate) const MIRI_CRATES: &[&str] =
    &["pool-core", "pool-cpu", "pool-dlpack", "pool-facade", "pool-conformance"];

/// The crate whose tests under Stacked Borrows are a step of their own.
pub(crate) const MIRI_CORE: &str = "pool-core";

/// The other crates that run under Stacked Borrows without `--full`. The tests of
/// `pool-conformance` run under Tree Borrows, and the suite of `pool-core` uses its backends.
pub(crate) const STACKED_BORROWS_CRATES: &[&str] = &["pool-cpu", "pool-dlpack", "pool-facade"];

/// The crates that also run under Tree Borrows without `--full`. Their tests run the unsafe code of
/// `pool-core` on real memory, whereas the crate's own suite uses memory made for tests.
pub(crate) const TREE_BORROWS_CRATES: &[&str] = &["pool-cpu", "pool-conformance"];

/// The crate that tests threads: each pool belongs to a thread, but settings, counters and shutdown
/// are shared.
pub(crate) const CRATES_OF_THREADS: &[&str] = &["pool-facade"];

/// The crates whose arithmetic on lengths must also be correct without overflow checks.
pub(crate) const RELEASE_TESTED: &[&str] = &["pool-core", "pool-conformance", "pool-cpu"];

const fn with(package: &'static str, features: &'static [&'static str]) -> FeatureSet {
    FeatureSet::with(package, features)
}

const fn with_defaults(package: &'static str) -> FeatureSet {
    FeatureSet::with_defaults(package)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use serde::Deserialize;
    use tasks::features::FeatureSet;
    use tasks::workspace;

    use super::{
        ALL_FEATURES, CLIPPY_SETS, CLIPPY_SETS_IN_FULL, CRATES_OF_THREADS, LIBRARIES, MIRI_CRATES,
        MSRV_EXEMPT, NO_STD_SETS, NOT_TESTED, RELEASE_TESTED, STACKED_BORROWS_CRATES,
        TREE_BORROWS_CRATES, WITH_PLAIN_DEFAULTS, all_features_of,
    };

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

    /// Returns the library crates in the workspace, with the contents of their manifests.
    fn crates() -> Vec<Package> {
        let manifests: Manifests = workspace::describe().unwrap();
        manifests
            .packages
            .into_iter()
            .filter(|package| !["xtask", "pool-benches"].contains(&package.name.as_str()))
            .collect()
    }

    /// Returns each feature as `crate/feature`, except `default`.
    fn features(crates: &[Package]) -> BTreeSet<String> {
        let of_crate = |package: &Package| {
            let name = &package.name;
            package
                .features
                .keys()
                .filter(|feature| *feature != "default")
                .map(|feature| format!("{name}/{feature}"))
                .collect::<Vec<_>>()
        };
        crates.iter().flat_map(of_crate).collect()
    }

    fn named(sets: &[FeatureSet]) -> BTreeSet<String> {
        sets.iter()
            .flat_map(|set| {
                set.features.iter().map(move |feature| format!("{}/{feature}", set.package))
            })
            .collect()
    }

    #[test]
    fn every_feature_of_the_manifests_is_linted_and_tested() {
        let mut declared = features(&crates());
        // Features that load the driver in different ways exclude each other.
        // `cargo xtask cuda-versions` builds with them.
        declared.retain(|feature| !feature.ends_with("dynamic-loading"));
        declared.retain(|feature| !feature.ends_with("dynamic-linking"));
        // This feature needs a nightly compiler. The `published-pages` step builds with it.
        declared.retain(|feature| !feature.ends_with("/nightly"));
        assert!(!declared.is_empty());
        assert_eq!(&named(CLIPPY_SETS) | &named(CLIPPY_SETS_IN_FULL), declared);
        declared.retain(|feature| !NOT_TESTED.contains(&feature.as_str()));
        assert_eq!(
            ALL_FEATURES.iter().copied().map(str::to_owned).collect::<BTreeSet<_>>(),
            declared
        );
        assert!(named(NO_STD_SETS).is_subset(&declared));
    }

    #[test]
    fn every_feature_stands_on_the_pages_of_its_crate() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        for feature in features(&crates()) {
            let Some((package, name)) = feature.split_once('/') else { panic!("{feature}") };
            if !LIBRARIES.contains(&package) {
                continue;
            }
            for page in ["README.md", "src/lib.rs"] {
                let text = std::fs::read_to_string(root.join(package).join(page)).unwrap();
                assert!(
                    text.contains(&format!("| `{name}`")),
                    "{page} of {package} lacks `{name}`"
                );
            }
        }
    }

    #[test]
    fn what_needs_a_newer_compiler_is_there() {
        for newer in MSRV_EXEMPT {
            assert!(LIBRARIES.contains(newer) || ALL_FEATURES.contains(newer), "{newer}");
        }
    }

    #[test]
    fn features_of_one_crate_lose_its_name() {
        assert_eq!(all_features_of("pool-cpu"), ["ndarray"]);
        assert!(all_features_of("pool").is_empty());
    }

    #[test]
    fn every_package_named_here_is_in_the_workspace() {
        let crates = crates();
        let exists = |name: &str| crates.iter().any(|package| package.name == name);
        let sets = [CLIPPY_SETS, NO_STD_SETS].into_iter().flatten().map(|set| set.package);
        let lists = [
            LIBRARIES,
            WITH_PLAIN_DEFAULTS,
            MIRI_CRATES,
            STACKED_BORROWS_CRATES,
            TREE_BORROWS_CRATES,
            CRATES_OF_THREADS,
            RELEASE_TESTED,
        ]
        .into_iter()
        .flatten()
        .copied();
        for name in sets.chain(lists) {
            assert!(exists(name), "{name}");
        }
    }

    #[test]
    fn every_published_crate_is_a_library_here() {
        let published: BTreeSet<String> = crates()
            .iter()
            .filter(|package| package.publish.is_none())
            .map(|package| package.name.clone())
            .collect();
        let listed: BTreeSet<String> = LIBRARIES.iter().copied().map(str::to_owned).collect();
        assert_eq!(published, listed);
    }
}
