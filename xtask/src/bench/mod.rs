//! `cargo xtask bench`: compares the pool with other libraries on the same work, in one run.
//!
//! The task builds the binaries of `benches` and runs them: one for each allocator, and the timed
//! binary again under callgrind. It then writes `docs/measurements/benchmarks.md` with its plot,
//! and the numbers as JSON. With `--check`, it only counts instructions and heap allocations, and
//! compares them with the committed numbers. Times are never compared.

mod add;
mod bars;
mod callgrind;
mod check;
mod figures;
mod machine;
mod plot;
mod programs;
#[allow(unreachable_pub, reason = "shared with `benches`, which is a library")]
#[path = "../../../benches/src/record.rs"]
mod record;
mod report;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::TaskError;
use figures::Figures;
use programs::{Allocator, Effort, Programs};

/// The arguments of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compare instructions and heap allocations with the committed figures, and write nothing.
    /// Exit code 1 means that a count has increased, and 2 that the compiler or target differs, or
    /// that callgrind is missing.
    #[arg(long)]
    check: bool,
    /// Take about a minute. Batches are fewer and shorter, so the spread is wider.
    #[arg(long)]
    quick: bool,
    /// Print the tables and write nothing.
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    /// Measure nothing, and write the page and the plot again from the committed figures.
    #[arg(long, conflicts_with_all = ["check", "quick", "dry_run", "no_allocators"])]
    rewrite: bool,
    /// Count the cases that the committed figures lack, and add them without times. Held bytes are
    /// counted again.
    #[arg(long, conflicts_with_all = ["check", "quick", "dry_run", "rewrite", "no_allocators"])]
    add: bool,
    /// Leave out mimalloc and jemalloc, which need a C compiler.
    #[arg(long)]
    no_allocators: bool,
}

/// Measures, and writes or compares the figures.
///
/// # Errors
///
/// When a binary cannot be built or run, or a file cannot be read or written.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let folder = documents();
    if arguments.check {
        return check::run(&folder.join("benchmarks.json"));
    }
    if arguments.add {
        return add::run(&folder);
    }
    if arguments.rewrite {
        let committed = fs::read_to_string(folder.join("benchmarks.json"))?;
        report::write_page(&serde_json::from_str(&committed)?, &folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let programs = Programs::build(&allocators(arguments))?;
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let figures = Figures::measure(&programs, effort)?;
    println!("{}", tables::for_terminal(&figures));
    if !arguments.dry_run {
        report::write(&figures, &folder)?;
        println!("written: {}", folder.join("benchmarks.md").display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the allocators that are measured in their own process, in addition to the system's
/// allocator.
fn allocators(arguments: &Arguments) -> Vec<Allocator> {
    if arguments.no_allocators {
        return Vec::new();
    }
    if !has_c_compiler() {
        println!("SKIPPED: mimalloc and jemalloc: the C compiler `cc` is not installed");
        return Vec::new();
    }
    vec![Allocator::MIMALLOC, Allocator::JEMALLOC]
}

fn has_c_compiler() -> bool {
    let found = Command::new("cc").arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

/// Returns the directory that contains the measurements.
fn documents() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).join("docs/measurements")
}
