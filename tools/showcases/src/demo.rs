//! `cargo xtask demo`: builds the demo and the programs that it measures in release mode, and runs
//! the demo.
//!
//! The demo is a separate crate, so this crate, which every showcase needs, is built only once and
//! without the demo.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use tasks::TaskError;
use tasks::programs;

/// The arguments of `cargo xtask demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Take only a few seconds. Batches are fewer and shorter, so the spread is wider.
    #[arg(long)]
    quick: bool,
    /// Also stream many more frames, up to 4K, with mimalloc, jemalloc and bump-scope and on wgpu,
    /// and 100,000 small frames with the pool. This takes some minutes and needs a C compiler.
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Run only one stream, such as 640x480-churn or, with --full, 64x48. An unknown name lists all
    /// streams.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// The programs' features, each with what it adds.
const ALLOCATORS: (&str, &str) = ("allocators", "bump-scope,jemalloc,mimalloc");
const WGPU: (&str, &str) = ("wgpu", "wgpu");

/// Builds the programs and runs the demo.
///
/// # Errors
///
/// Fails if the programs cannot be built, or if the demo cannot be started.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let (length, wanted): (&str, &[_]) = match (arguments.quick, arguments.full) {
        (true, _) => ("quick", &[]),
        (false, true) => ("full", &[ALLOCATORS, WGPU]),
        (false, false) => ("short", &[]),
    };
    let (demo, with) = build(wanted)?;
    let mut command = Command::new(&demo);
    command.args(["--length", length, "--programs"]).arg(demo.parent().unwrap_or(Path::new(".")));
    command.args(with.iter().flat_map(|name| ["--with", name]));
    if let Some(only) = &arguments.only {
        command.args(["--only", only]);
    }
    let status = command.status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the demo and the requested features that are available. For the others, prints that they
/// are missing.
fn build<'w>(wanted: &[(&'w str, &str)]) -> Result<(PathBuf, Vec<&'w str>), TaskError> {
    let mut with = Vec::new();
    for (name, features) in wanted {
        match build_with(&[features]) {
            Ok(_) => with.push((*name, *features)),
            Err(why) => println!("SKIPPED: {name}: {why}"),
        }
    }
    let features: Vec<&str> = with.iter().map(|(_, features)| *features).collect();
    Ok((build_with(&features)?, with.iter().map(|(name, _)| *name).collect()))
}

/// Builds all programs and returns the path of the demo.
fn build_with(features: &[&str]) -> Result<PathBuf, TaskError> {
    let mut build = programs::cargo();
    build.args(["build", "--release", "--package", "pool-demo", "--package", "pool-stream"]);
    build.arg("--bins").current_dir(env!("CARGO_MANIFEST_DIR"));
    for features in features.iter().flat_map(|list| list.split(',')) {
        build.args(["--features", &format!("pool-stream/{features}")]);
    }
    let built = programs::build(&mut build)?;
    let demo = built.into_iter().find(|one| one.target.name == "pool-demo" && one.target.is("bin"));
    Ok(demo.and_then(|demo| demo.executable).ok_or("cargo built no demo")?)
}
