//! A user's crate that only depends on the packages. It is built and run in an empty directory.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::unpacked::Unpacked;
use crate::TaskError;
use tasks::checks::{Checks, Outcome, says};
use tasks::programs::cargo;
use tasks::workspace::Workspace;

/// The source of the user's crate. It uses a device if there is one, but this test has none.
const SOURCE: &str = r#"
use pool_facade::prelude::*;

fn norm(values: &[f64]) -> f64 {
    with_pool!(|scope| {
        let squares = scope.acquire_with(values.len(), |i| values[i] * values[i]);
        squares.iter().sum::<f64>().sqrt()
    })
}

#[cfg(feature = "ndarray")]
fn trace() -> f64 {
    with_pool!(|scope| {
        let ones = scope.acquire_filled([3, 3], 1.0).into_ndarray();
        ones.diag().sum()
    })
}

#[cfg(feature = "cuda")]
fn device() -> String {
    use pool_facade::pool_cuda;
    match pool_cuda::Cuda::device(0) {
        Ok(device) => format!("{:?}", device.name()),
        Err(error) => error.to_string(),
    }
}

#[cfg(feature = "graph")]
fn planned() -> u64 {
    use pool_facade::pool_graph::{CUDAGraphMemoryPool, GraphPoolConfig, SyntheticMemory};
    let config = GraphPoolConfig { initial: 0, maximum: 1 << 20 };
    let pool = CUDAGraphMemoryPool::with_config(SyntheticMemory::new(), config);
    pool.allocate(1000).unwrap().size()
}

#[cfg(feature = "wgpu")]
fn stream() -> String {
    use pool_facade::pool_wgpu::Stream;
    match Stream::open() {
        Ok(stream) => format!("{:?}", stream.counts()),
        Err(error) => error.to_string(),
    }
}

fn main() {
    println!("norm {}", norm(&[3.0, 4.0]));
    #[cfg(feature = "ndarray")]
    println!("trace {}", trace());
    #[cfg(feature = "cuda")]
    println!("device: {}", device());
    #[cfg(feature = "graph")]
    println!("a block of {} bytes", planned());
    #[cfg(feature = "wgpu")]
    println!("stream: {}", stream());
}
"#;

/// The features for each build, and a line that the program prints.
const BUILDS: &[(&str, &str)] = &[
    ("default", "norm 5"),
    ("ndarray", "trace 3"),
    ("cuda", "device: "),
    ("graph,ndarray", "a block of "),
];

/// A build that includes wgpu, and takes longer than the other builds.
const LARGE_BUILD: (&str, &str) = ("wgpu", "stream: ");

/// Writes the crate, and builds and runs it with each set of features. With `full`, wgpu is
/// included.
///
/// # Errors
///
/// Fails if the crate cannot be written, or if cargo cannot be started.
pub(super) fn check(
    workspace: &Workspace,
    directory: &Path,
    unpacked: &Unpacked,
    full: bool,
    checks: &mut Checks,
) -> Result<(), TaskError> {
    let package = directory.join("user");
    fs::create_dir_all(package.join("src"))?;
    fs::write(package.join("src/main.rs"), SOURCE)?;
    fs::write(package.join("Cargo.toml"), manifest(unpacked)?)?;
    // All other crates have the versions that the workspace uses.
    fs::copy(workspace.root.join("Cargo.lock"), package.join("Cargo.lock"))?;
    let target = workspace.target_directory.join("xtask/packages");
    for (features, line) in BUILDS.iter().chain(full.then_some(&LARGE_BUILD)) {
        let ran = run(&package, &target, features, line)?;
        checks.that(
            &format!("a user's crate with {features} builds from the packages and runs"),
            ran,
        );
    }
    Ok(())
}

fn run(package: &Path, target: &Path, features: &str, line: &str) -> Result<Outcome, TaskError> {
    let mut run = cargo();
    run.args(["run", "--quiet", "--features", features]).current_dir(package);
    run.env("CARGO_TARGET_DIR", target).stdin(Stdio::null()).stderr(Stdio::inherit());
    let answer = run.output()?;
    if !answer.status.success() {
        return Ok(Err(format!("it ended with {}", answer.status)));
    }
    Ok(says(&String::from_utf8_lossy(&answer.stdout), line))
}

/// Returns the manifest, which uses the packages instead of the registry's crates.
fn manifest(unpacked: &Unpacked) -> Result<String, TaskError> {
    let mut text = String::from(
        "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [features]\ndefault = []\nndarray = [\"pool-facade/ndarray\"]\ncuda = [\"pool-facade/cuda\"]\n\
         graph = [\"cuda\", \"pool-facade/graph\"]\nwgpu = [\"pool-facade/wgpu\"]\n\n\
         [dependencies]\npool-facade = \"0.1\"\n\n[patch.crates-io]\n",
    );
    for (name, path) in unpacked {
        writeln!(text, "{name} = {{ path = {path:?} }}")?;
    }
    Ok(text)
}
