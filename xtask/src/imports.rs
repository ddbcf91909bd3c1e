//! `cargo xtask imports`: compares the imports of the published crates, the benches and the tasks
//! with their layering.

use std::process::ExitCode;

use tasks::imports::{self, Arguments, Crate};

use crate::TaskError;
use crate::test::features::LIBRARIES;

/// Crates that are not published but also checked, each with its root module.
const UNPUBLISHED: &[Crate<'_>] = &[
    Crate { name: "cuda-tasks", root: "tools/cuda-tasks/src/lib.rs" },
    Crate { name: "pool-benches", root: "benches/src/lib.rs" },
    Crate { name: "showcases", root: "tools/showcases/src/main.rs" },
    Crate { name: "tasks", root: "tools/tasks/src/lib.rs" },
    Crate { name: "xtask", root: "xtask/src/main.rs" },
];

/// Checks all crates.
///
/// # Errors
///
/// Fails if a source cannot be read or parsed. A cycle is not returned as an error: it sets the
/// exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let roots: Vec<String> =
        LIBRARIES.iter().map(|name| format!("crates/{name}/src/lib.rs")).collect();
    let libraries = LIBRARIES.iter().zip(&roots).map(|(name, root)| Crate { name, root });
    let crates: Vec<Crate<'_>> = libraries.chain(UNPUBLISHED.iter().copied()).collect();
    imports::run(arguments, &crates)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    /// The parts of the solver that run after the first plan has been found.
    const COUNTED: [&str; 8] = [
        "bound",
        "bundles.rs",
        "greedy",
        "overlaps.rs",
        "portfolio",
        "search",
        "sorting.rs",
        "timeline.rs",
    ];

    fn sources(path: &Path) -> Vec<PathBuf> {
        if path.is_file() {
            return vec![path.to_owned()];
        }
        let entries = path.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<PathBuf> = entries.flat_map(|entry| sources(&entry)).collect();
        all.retain(|file| !file.ends_with("tests.rs"));
        all.sort();
        all
    }

    /// Each loop of the solver counts its passes, or a comment states why it does not.
    #[test]
    fn every_loop_is_counted() {
        let solver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/pool-plan/src");
        let mut complaints = Vec::new();
        for file in COUNTED.iter().flat_map(|part| sources(&solver.join(part))) {
            let text = std::fs::read_to_string(&file).unwrap();
            let found = tasks::loops::uncounted(&text).unwrap();
            complaints.extend(found.into_iter().map(|one| format!("{}, {one}", file.display())));
        }
        assert_eq!(complaints, [""; 0], "{} functions", complaints.len());
    }
}
