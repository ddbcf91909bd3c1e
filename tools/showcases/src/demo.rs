//! `cargo xtask demo`: builds the demo and the programs that it measures, optimised, and runs it.
//!
//! The demo is a crate of its own, so that this one, which every task needs first, is built once and without it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use tasks::TaskError;
use tasks::programs;

/// The options of `cargo xtask demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Take a few seconds only: fewer and shorter batches, so a wider spread.
    #[arg(long)]
    quick: bool,
    /// Stream many more frames, up to 4K, also with mimalloc, jemalloc and bump-scope, which needs a C compiler, on
    /// wgpu, and 100,000 small ones with the pool: some minutes.
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// One stream alone, such as 640x480-churn or, with --full, 64x48; a wrong name lists all.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// A name, and the features of the programs behind it.
const ALLOCATORS: (&str, &str) = ("allocators", "bump-scope,jemalloc,mimalloc");
const WGPU: (&str, &str) = ("wgpu", "wgpu");

/// Builds the programs and runs the demo.
///
/// # Errors
///
/// Fails if they cannot be built, or if the demo cannot be started.
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

/// Builds the demo with the wanted features. Prints those that cannot be built, and leaves them out. Returns the
/// program and its features.
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

/// Builds all programs; the demo's.
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
