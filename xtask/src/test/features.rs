//! The feature sets that are checked, as data.
//!
//! Never `--all-features`: the CUDA version features of one crate exclude each other. A unit test
//! below holds the list against the manifests, so that a new feature cannot be forgotten.

use tasks::features::FeatureSet;

/// The runs of clippy besides that of the whole workspace with all compatible features.
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

/// Further runs with `--full`: single features, and code that no other step builds.
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

/// Features of programs that no other build needs: one takes in a tokenizer, others allocators written in C.
#[cfg(test)]
const NOT_TESTED: &[&str] = &[
    "pool-encoder/bytes",
    "pool-encoder/peers",
    "pool-encoder/text",
    "pool-stream/jemalloc",
    "pool-stream/mimalloc",
];

/// Features that a whole-workspace command turns on: all that go together.
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

/// Those of [`ALL_FEATURES`] that belong to one crate, without its name.
pub(crate) fn all_features_of(package: &str) -> Vec<&'static str> {
    let of_package = |feature: &&'static str| feature.strip_prefix(package)?.strip_prefix('/');
    ALL_FEATURES.iter().filter_map(of_package).collect()
}

/// Returns `true` if a feature of [`ALL_FEATURES`] is one of this crate.
pub(crate) fn belongs(feature: &str, package: &str) -> bool {
    feature.strip_prefix(package).is_some_and(|rest| rest.starts_with('/'))
}

/// The builds for targets without the standard library.
pub(crate) const NO_STD_SETS: &[FeatureSet] = &[
    with("pool-core", &[]),
    with("pool-core", &["allocator-api2", "half", "complex", "tracing"]),
    with("pool-cpu", &[]),
    with("pool-cpu", &["ndarray"]),
];

/// Crates of this workspace that are published.
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

/// Crates of the simulator's workspace that are published.
pub(crate) const SIMULATOR: &[&str] = &["cuda-sim", "cuda-sim-test"];

/// Crates of the planner's workspace that are published.
pub(crate) const PLANNER: &[&str] = &["pool-plan-cli", "pool-replay"];

/// The crate and the feature that build wgpu, the largest of all dependencies. A step that builds all libraries anew
/// includes them only with `--full`.
pub(crate) const WITH_WGPU: &[&str] = &["pool-wgpu", "pool-facade/wgpu"];

/// Of these, those whose default features leave out code that the whole workspace has.
pub(crate) const WITH_PLAIN_DEFAULTS: &[&str] = &["pool-core", "pool-cpu", "pool-facade"];

/// The crates and features that need a newer compiler than the oldest supported one, because cudarc, dlpark and wgpu
/// do.
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

/// Crates whose unsafe code runs under Miri and the sanitizers.
pub(crate) const MIRI_CRATES: &[&str] =
    &["pool-core", "pool-cpu", "pool-dlpack", "pool-facade", "pool-conformance"];

/// Of these, those that run under Tree Borrows without `--full`: their tests drive the unsafe code of `pool-core` on real
/// memory, which its own suite drives on the memory of tests.
pub(crate) const TREE_BORROWS_CRATES: &[&str] = &["pool-cpu", "pool-conformance"];

/// Of these, the one that is about threads: its pools are a thread's, and their settings, numbers and ends are shared.
pub(crate) const CRATES_OF_THREADS: &[&str] = &["pool-facade"];

/// Crates whose arithmetic on lengths must also hold where overflow is not checked.
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
        MSRV_EXEMPT, NO_STD_SETS, NOT_TESTED, RELEASE_TESTED, TREE_BORROWS_CRATES,
        WITH_PLAIN_DEFAULTS, all_features_of,
    };

    #[derive(Deserialize)]
    struct Manifests {
        packages: Vec<Package>,
    }

    #[derive(Deserialize)]
    struct Package {
        name: String,
        features: BTreeMap<String, Vec<String>>,
        /// The registries it may go to: none at all for `publish = false`.
        publish: Option<Vec<String>>,
    }

    /// The crates of the workspace that hold library code, as their manifests stand.
    fn crates() -> Vec<Package> {
        let manifests: Manifests = workspace::describe().unwrap();
        manifests
            .packages
            .into_iter()
            .filter(|package| !["xtask", "pool-benches"].contains(&package.name.as_str()))
            .collect()
    }

    /// Each feature as `crate/feature`, except `default`.
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
        // Ways of loading the driver exclude each other; `cargo xtask cuda-versions` builds with them.
        declared.retain(|feature| !feature.ends_with("dynamic-loading"));
        declared.retain(|feature| !feature.ends_with("dynamic-linking"));
        // For nightly compilers; the step `published-pages` builds with it.
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
