//! `cargo xtask bench`: the pool beside its peers, in one run, on the same work.
//!
//! Builds the binaries of `benches`, runs them (one for each allocator, and callgrind around the one
//! that is timed), and writes `docs/measurements/benchmarks.md` with its plot and its numbers as JSON. With
//! `--check` it counts instructions and heap allocations alone, and compares them with the committed
//! numbers; times are never compared.

mod add;
mod bars;
mod callgrind;
mod check;
mod figures;
mod machine;
mod plot;
mod programs;
#[allow(unreachable_pub, reason = "shared with `benches`, whose modules are a library's")]
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
    /// Compare instructions and heap allocations with the committed figures and write nothing. Exit
    /// code 1: something takes more. 2: another compiler or target, or no callgrind.
    #[arg(long)]
    check: bool,
    /// Take about a minute: fewer and shorter batches, so a wider spread.
    #[arg(long)]
    quick: bool,
    /// Print the tables and write nothing.
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    /// Measure nothing: write the page and the plot anew from the committed figures.
    #[arg(long, conflicts_with_all = ["check", "quick", "dry_run", "no_allocators"])]
    rewrite: bool,
    /// Count the cases that the committed figures do not have, and add them, without times; count the held bytes anew.
    #[arg(long, conflicts_with_all = ["check", "quick", "dry_run", "rewrite", "no_allocators"])]
    add: bool,
    /// Leave mimalloc and jemalloc out, which need a C compiler.
    #[arg(long)]
    no_allocators: bool,
}

/// Measures, and writes or compares.
///
/// # Errors
///
/// Fails if a binary cannot be built or run, or a file cannot be read or written.
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

/// The allocators that get a process of their own, beside the system's.
fn allocators(arguments: &Arguments) -> Vec<Allocator> {
    if arguments.no_allocators {
        return Vec::new();
    }
    if !has_c_compiler() {
        println!("SKIPPED: mimalloc and jemalloc, because there is no C compiler `cc`");
        return Vec::new();
    }
    vec![Allocator::MIMALLOC, Allocator::JEMALLOC]
}

fn has_c_compiler() -> bool {
    let found = Command::new("cc").arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

/// The directory of measurements.
fn documents() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).join("docs/measurements")
}
