//! `cargo xtask cuda-versions`: checks that the CUDA crates build with the cudarc features that
//! other crates request.
//!
//! A build contains one cudarc with the features that all crates request together. Two CUDA
//! versions, or two ways of loading the driver, do not build. The task creates a package outside
//! this workspace that depends on the facade and on cudarc with the features of another crate's
//! manifest, and then checks the package. It needs the crates from the registry. The last line is
//! `N passed, N failed, N skipped`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use serde::Deserialize;

use crate::TaskError;
use tasks::programs::{cargo, output};
use tasks::workspace::{self, Workspace};

/// The arguments of `cargo xtask cuda-versions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Check every CUDA version for which the locked cudarc has bindings, and not only the oldest
    /// and the newest.
    #[arg(long)]
    full: bool,
}

/// The cudarc features that another crate in a build requests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Case {
    name: String,
    features: Vec<String>,
}

/// The features in the manifest of candle-core 0.11.1, except the CUDA version. candle-core's build
/// uses the version of nvcc; this task names a version.
const CANDLE: (&str, &[&str]) = (
    "beside candle-core 0.11.1",
    &[
        "std",
        "cublas",
        "cublaslt",
        "curand",
        "driver",
        "nvrtc",
        "f16",
        "f8",
        "cuda-version-from-build-system",
        "dynamic-linking",
        "cuda-12080",
    ],
);

/// The features in the manifest of cubecl-cuda 0.10.0.
const CUBECL: (&str, &[&str]) = (
    "beside cubecl-cuda 0.10.0",
    &[
        "std",
        "driver",
        "nvrtc",
        "nccl",
        "fallback-dynamic-loading",
        "cuda-version-from-build-system",
        "fallback-latest",
    ],
);

/// The oldest CUDA version that is supported.
const OLDEST: &str = "cuda-12000";

/// A program that uses a type from both crates, which only compiles if the type is the same.
const SOURCE: &str = "\
pub fn same(stream: pool_facade::pool_cuda::cudarc::driver::sys::CUstream) -> cudarc::driver::sys::CUstream {
    stream
}

pub use pool_facade::pool_graph::CaptureSession;
";

/// Checks all cases and prints the results.
///
/// # Errors
///
/// Fails if the package cannot be written, or if cargo cannot be started. A case that does not
/// build is not returned as an error: it is counted.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let Workspace { root, target_directory, .. } = workspace::describe()?;
    let versions = versions_of_cudarc(&root)?;
    let package = Package::new(&root, &target_directory)?;
    let (mut passed, mut failed) = (0, 0);
    for case in cases(&versions, arguments.full)? {
        let builds = package.builds(&case)?;
        println!("{} {}", if builds { "ok    " } else { "FAILED" }, case.name);
        *(if builds { &mut passed } else { &mut failed }) += 1;
    }
    println!("\n{passed} passed, {failed} failed, 0 skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cases(versions: &[String], full: bool) -> Result<Vec<Case>, TaskError> {
    let newest = versions.last().ok_or("cudarc has no feature for a CUDA version")?;
    let case = |name: &str, features: &[&str]| Case {
        name: name.to_owned(),
        features: features.iter().copied().map(str::to_owned).collect(),
    };
    let mut cases = vec![case("alone", &[]), case(CANDLE.0, CANDLE.1), case(CUBECL.0, CUBECL.1)];
    let wanted = |version: &&String| full || *version == OLDEST || *version == newest;
    let chosen = versions.iter().filter(wanted);
    cases.extend(chosen.map(|version| case(version, &[version])));
    Ok(cases)
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    features: std::collections::BTreeMap<String, Vec<String>>,
}

/// Returns the CUDA versions from 12.0 on for which the locked cudarc has features, oldest first.
fn versions_of_cudarc(root: &Path) -> Result<Vec<String>, TaskError> {
    let manifest = root.join("Cargo.toml");
    let mut ask = cargo();
    ask.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(manifest);
    let metadata: Metadata = serde_json::from_slice(&output(&mut ask)?)?;
    let described = metadata.packages.into_iter().find(|package| package.name == "cudarc");
    let features = described.ok_or("cargo metadata does not list cudarc")?.features;
    Ok(supported(features.into_keys()))
}

fn supported(features: impl Iterator<Item = String>) -> Vec<String> {
    let is_version = |feature: &String| {
        let number = feature.strip_prefix("cuda-").and_then(|number| number.parse::<u32>().ok());
        number.is_some_and(|number| number >= 12_000)
    };
    let mut versions: Vec<String> = features.filter(is_version).collect();
    versions.sort();
    versions
}

/// The package that is built. Dropping the value removes the package.
struct Package {
    directory: PathBuf,
    facade: PathBuf,
    target_directory: PathBuf,
}

impl Package {
    /// Creates the package outside the workspace, because the workspace's settings would select a
    /// CUDA version.
    fn new(root: &Path, target_directory: &Path) -> Result<Self, TaskError> {
        let directory = env::temp_dir().join(format!("pool-cuda-versions-{}", std::process::id()));
        fs::create_dir_all(directory.join("src"))?;
        let package = Self {
            directory,
            facade: root.join("crates/pool-facade"),
            target_directory: target_directory.join("xtask/cuda-versions"),
        };
        fs::write(package.directory.join("src/lib.rs"), SOURCE)?;
        // All crates have the versions that the workspace uses.
        fs::copy(root.join("Cargo.lock"), package.directory.join("Cargo.lock"))?;
        Ok(package)
    }

    fn builds(&self, case: &Case) -> Result<bool, TaskError> {
        fs::write(self.directory.join("Cargo.toml"), manifest(&self.facade, &case.features))?;
        let mut check: Command = cargo();
        check.args(["check", "--quiet"]).current_dir(&self.directory).stdin(Stdio::null());
        Ok(check.env("CARGO_TARGET_DIR", &self.target_directory).status()?.success())
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn manifest(facade: &Path, features: &[String]) -> String {
    format!(
        "[package]\nname = \"beside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n\
         pool-facade = {{ path = {facade:?}, features = [\"cuda\", \"graph\"] }}\n\
         cudarc = {{ version = \"0.19.10\", default-features = false, features = {features:?} }}\n"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{cases, manifest, supported};

    fn versions() -> Vec<String> {
        let features = ["cuda-13010", "nvrtc", "cuda-11080", "cuda-12000", "cuda-12080", "cudnn"];
        supported(features.into_iter().map(str::to_owned))
    }

    #[test]
    fn versions_are_those_from_12_0_on() {
        assert_eq!(versions(), ["cuda-12000", "cuda-12080", "cuda-13010"]);
    }

    #[test]
    fn the_oldest_and_the_newest_are_always_checked() {
        let names = |full| -> Vec<String> {
            cases(&versions(), full).unwrap().into_iter().map(|case| case.name).collect()
        };
        assert_eq!(names(false)[3..], ["cuda-12000", "cuda-13010"]);
        assert_eq!(names(true)[3..], ["cuda-12000", "cuda-12080", "cuda-13010"]);
        assert!(cases(&[], true).is_err());
    }

    #[test]
    fn the_manifest_names_the_features() {
        let text = manifest(Path::new("/a/b"), &["nvrtc".to_owned()]);
        assert!(text.contains("path = \"/a/b\"") && text.contains("features = [\"nvrtc\"]"));
    }
}
