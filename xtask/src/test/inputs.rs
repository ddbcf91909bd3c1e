//! Lists of the files that each step of `cargo xtask test` reads.
//!
//! `--changed-since` skips the steps for which no file has changed; [`tasks::steps::inputs`]
//! describes the patterns. Files that affect all steps are not listed, so a change to one of them
//! runs everything. They include the root manifest and lock file, `.cargo/`, `.ci/`, `tools/` and
//! `xtask/`. The tests below compare the table with the steps, with the crates that the steps
//! build, and with the documents that sources include.

use tasks::steps::inputs::Inputs;

/// The code in the workspace, and a document that a test of the facade includes.
const CODE: &[&str] = &[
    "crates/",
    "sim/",
    "testing/browser-tests/",
    "testing/device-tests/",
    "testing/edition-2021/",
    "testing/hot-path/",
    "testing/pool-kernels/",
    "testing/wgpu-tests/",
    "benches/",
    "demo/",
    "encoder/",
    "examples/",
    "crates/pool-facade/src/compiler_errors.md",
];

/// The documents that libraries include in their documentation.
const PAGES: &[&str] = &[
    "crates/pool-facade/src/compiler_errors.md",
    "crates/pool-facade/README.md",
    "crates/pool-plan/README.md",
    "README.md",
    "docs/guide.md",
];

/// A document that a test on the simulated driver reads.
const GRAPHS: &[&str] = &["docs/graphs.md"];

/// The published crates in this workspace.
const PUBLISHED: &[&str] = &["crates/"];

/// The crates for pools in host memory.
const HOST: &[&str] = &[
    "crates/pool-core/",
    "crates/pool-cpu/",
    "crates/pool-dlpack/",
    "crates/pool-facade/",
    "crates/pool-conformance/",
    "crates/pool-facade/src/compiler_errors.md",
];

/// The crates that plan and verify graph memory without CUDA.
const GRAPH: &[&str] =
    &["crates/pool-core/", "crates/pool-conformance/", "crates/pool-graph/", "crates/pool-plan/"];

/// The files that each step reads.
pub(crate) const INPUTS: &[Inputs] = &[
    ("formatting", &[&["*"]]),
    ("clippy", &[CODE]),
    ("documentation", &[CODE, PAGES]),
    ("links", &[&["*"]]),
    ("words", &[&["*"]]),
    ("imports", &[CODE, &["ARCHITECTURE.md"]]),
    ("document-tests", &[CODE, &["*.md", "planner/"]]),
    ("tests", &[CODE]),
    ("kernels", &[&["testing/pool-kernels/", "testing/cudarc-user/"]]),
    ("simulated-driver", &[CODE, GRAPHS]),
    ("gpu-archive", &[CODE, &["scripts/"]]),
    ("interleavings", &[HOST, GRAPH]),
    ("release-tests", &[HOST, GRAPH]),
    ("assembly", &[HOST, &["testing/hot-path/"]]),
    ("examples", &[CODE]),
    ("miri-stacked-borrows-core", &[HOST]),
    ("miri-stacked-borrows-pools", &[HOST, GRAPH]),
    ("miri-tree-borrows", &[HOST]),
    ("miri-32-bit", &[HOST]),
    ("thread-sanitizer", &[HOST, GRAPH]),
    ("address-sanitizer", &[HOST]),
    ("nightly-doc-tests", &[&["crates/"], PAGES]),
    ("planner", &[&["planner/", "planner/*.md", "crates/pool-plan/"]]),
    ("browser", &[CODE, &["tools/web-bindgen/"]]),
    ("sim", &[&["sim/", "sim/*.md", "testing/pool-kernels/cuda/"]]),
    ("adopt", &[&["crates/", "testing/adopt/"]]),
    ("dlpack", &[HOST, &["testing/dlpack-python/"]]),
    ("no-std", &[HOST]),
    ("oldest-rust", &[PUBLISHED]),
    ("oldest-rust-for-devices", &[PUBLISHED]),
    ("cuda-versions", &[&["crates/"]]),
    (
        "packages",
        &[
            PUBLISHED,
            &[
                "crates/*.md",
                "sim/",
                "sim/*.md",
                "planner/",
                "planner/*.md",
                "testing/cudarc-user/",
            ],
        ],
    ),
    ("published-pages", &[PUBLISHED, PAGES]),
    ("semver", &[PUBLISHED]),
    ("doc-tests", &[CODE, PAGES]),
    ("driver-versions", &[CODE, GRAPHS]),
    ("simulator-sanitizers", &[CODE, GRAPHS]),
    ("cookbook", &[&["crates/", "testing/cookbook/", "docs/cookbook.md"]]),
    ("web", &[&["crates/"]]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use serde::Deserialize;
    use tasks::steps::inputs::{steps_after, unmatched};
    use tasks::workspace;

    use super::INPUTS;
    use crate::test::features::{
        CRATES_OF_THREADS, MIRI_CRATES, RELEASE_TESTED, TREE_BORROWS_CRATES,
    };
    use crate::test::steps::STEPS;

    /// The steps that run after every change.
    const ALWAYS: [&str; 3] = ["formatting", "links", "words"];

    fn after(file: &str) -> Vec<&'static str> {
        steps_after(STEPS, INPUTS, file)
    }

    #[test]
    fn every_step_has_its_inputs() {
        assert_eq!(unmatched(STEPS, INPUTS), [""; 0]);
    }

    #[test]
    fn an_unknown_path_runs_everything() {
        let decisive = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml", ".ci/run", "clippy.toml"];
        let tasks = ["xtask/src/main.rs", "tools/tasks/src/lib.rs"];
        for path in decisive.into_iter().chain(tasks).chain(["new/src/lib.rs", "testing/new/a.rs"])
        {
            assert_eq!(after(path).len(), STEPS.len(), "{path}");
        }
    }

    #[test]
    fn a_document_runs_the_steps_of_documents() {
        let documents = ["formatting", "links", "words", "document-tests"];
        assert_eq!(after("CONTRIBUTING.md"), documents);
        assert_eq!(after("docs/planner.md"), documents);
        assert!(after("docs/cookbook.md").contains(&"cookbook"));
        let page = after("crates/pool-facade/README.md");
        assert!(page.contains(&"doc-tests") && !page.contains(&"tests"), "{page:?}");
        let planner = after("planner/README.md");
        assert!(planner.contains(&"planner") && !planner.contains(&"clippy"), "{planner:?}");
    }

    #[test]
    fn the_planner_runs_after_a_change_of_its_own_or_of_the_solver() {
        assert!(after("planner/pool-replay/src/lib.rs").contains(&"planner"));
        assert!(after("crates/pool-plan/src/lib.rs").contains(&"planner"));
        assert!(!after("crates/pool-core/src/lib.rs").contains(&"planner"));
        assert!(!after("planner/pool-replay/src/lib.rs").contains(&"tests"));
    }

    #[test]
    fn a_device_crate_runs_no_miri() {
        let wgpu = after("crates/pool-wgpu/src/lib.rs");
        assert!(wgpu.contains(&"tests") && !wgpu.iter().any(|name| name.starts_with("miri")));
        assert!(after("crates/pool-graph/src/lib.rs").contains(&"miri-stacked-borrows-pools"));
    }

    #[derive(Deserialize)]
    struct Manifests {
        workspace_root: PathBuf,
        packages: Vec<Package>,
    }

    #[derive(Deserialize)]
    struct Package {
        name: String,
        manifest_path: PathBuf,
        dependencies: Vec<Dependency>,
    }

    #[derive(Deserialize)]
    struct Dependency {
        name: String,
        path: Option<PathBuf>,
        optional: bool,
    }

    /// Returns these crates together with the crates that are always built or tested with them.
    fn closure(packages: &[Package], of: &[&str]) -> BTreeSet<String> {
        let mut reached: BTreeSet<String> = of.iter().copied().map(str::to_owned).collect();
        loop {
            let inside = packages.iter().filter(|package| reached.contains(&package.name));
            let needed = inside.flat_map(|package| &package.dependencies);
            let needed = needed.filter(|one| one.path.is_some() && !one.optional);
            let grown: BTreeSet<String> =
                needed.map(|one| one.name.clone()).chain(reached.iter().cloned()).collect();
            if grown == reached {
                return reached;
            }
            reached = grown;
        }
    }

    #[test]
    fn steps_of_some_crates_read_all_that_those_need() {
        let Manifests { workspace_root, packages } = workspace::describe().unwrap();
        let graph: &[&str] = &["pool-graph"];
        let core: &[&str] = &["pool-core"];
        let steps = [
            ("interleavings", core),
            ("interleavings", graph),
            ("release-tests", RELEASE_TESTED),
            ("release-tests", graph),
            ("assembly", &["hot-path"]),
            ("miri-stacked-borrows-core", core),
            ("miri-stacked-borrows-pools", MIRI_CRATES),
            ("miri-stacked-borrows-pools", graph),
            ("miri-tree-borrows", MIRI_CRATES),
            ("miri-tree-borrows", TREE_BORROWS_CRATES),
            ("miri-32-bit", &["pool-core"]),
            ("thread-sanitizer", CRATES_OF_THREADS),
            ("thread-sanitizer", graph),
            ("address-sanitizer", MIRI_CRATES),
            ("no-std", &["pool-core", "pool-cpu"]),
        ];
        for (step, crates) in steps {
            for name in closure(&packages, crates) {
                let package = packages.iter().find(|package| package.name == name).unwrap();
                let directory = package.manifest_path.parent().unwrap();
                let manifest = directory.strip_prefix(&workspace_root).unwrap().join("Cargo.toml");
                assert!(after(manifest.to_str().unwrap()).contains(&step), "{step} reads {name}");
            }
        }
    }

    /// Collects the documents that sources below a directory include, as paths relative to the
    /// root.
    fn included(root: &Path, directory: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                included(root, &path, found);
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for include in text.split("include_str!(\"").skip(1) {
                let document = include.split('"').next().unwrap();
                if document.ends_with(".md") {
                    let whole = directory.join(document).canonicalize().unwrap();
                    let from_root = whole.strip_prefix(root).unwrap();
                    found.insert(from_root.to_str().unwrap().to_owned());
                }
            }
        }
    }

    #[test]
    fn a_document_that_sources_include_runs_the_tests_of_those() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        let mut found = BTreeSet::new();
        for directory in ["crates", "sim", "testing", "benches", "demo", "encoder", "examples"] {
            included(&root, &root.join(directory), &mut found);
        }
        assert!(found.len() > 3, "{found:?}");
        for document in found {
            let steps = after(&document);
            let others = steps.iter().filter(|step| !ALWAYS.contains(step));
            let others: Vec<_> = others.filter(|step| **step != "document-tests").collect();
            assert!(!others.is_empty(), "no step reads {document}");
        }
    }
}
