//! The crates and programs that contain GPU tests, and where they are.

use std::path::PathBuf;

use tasks::programs::Artifact;

/// The crates that contain GPU tests. `driver-conformance` belongs to the `sim` workspace.
pub(super) const PACKAGES: &[&str] =
    &["driver-conformance", "pool-kernels", "device-tests", "pool-encoder"];

/// The test programs that contain GPU tests, with the directories of their sources. Every ignored
/// test in these directories needs a CUDA device.
pub(super) const TESTS: &[(&str, &str)] = &[
    ("driver_conformance", "sim/driver-conformance/tests/driver_conformance"),
    ("kernels", "testing/pool-kernels/tests/kernels"),
    ("device_backend", "testing/device-tests/tests/device/backend"),
    ("device_graphs", "testing/device-tests/tests/device/graphs"),
    ("device_encoder", "encoder/tests/device"),
];

/// The directories that a build uses.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Place {
    /// The directory that contains the root manifest.
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    /// The directory that cargo builds in.
    pub(crate) target_directory: PathBuf,
}

/// Returns `true` if a program contains GPU tests.
pub(crate) fn holds_gpu_tests(artifact: &Artifact) -> bool {
    let own = TESTS.iter().any(|(name, _)| artifact.target.name == *name);
    own && artifact.target.is("test") && PACKAGES.iter().any(|package| artifact.is_of(package))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::TESTS;

    /// The manifest counts ignored tests, so a test that is ignored for another reason would also
    /// run.
    #[test]
    fn whatever_is_ignored_in_gpu_crates_needs_a_device() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (_, directory) in TESTS {
            let mut files = vec![root.join(directory)];
            let mut ignored = 0;
            while let Some(path) = files.pop() {
                if path.is_dir() {
                    files.extend(
                        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()),
                    );
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    for line in text.lines().filter(|line| line.trim().starts_with("#[ignore")) {
                        assert_eq!(line.trim(), r#"#[ignore = "needs a CUDA device"]"#);
                        ignored += 1;
                    }
                }
            }
            assert!(ignored > 0, "{directory} has no GPU tests");
        }
    }
}
