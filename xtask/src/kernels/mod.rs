//! `cargo xtask kernels`: compiles the CUDA kernels to PTX, or compares the committed PTX with the
//! sources.
//!
//! Each directory contains sources and the PTX of each source. Each also contains a budget, except
//! for directories of crates that represent other people's crates. NVRTC generates the PTX. `ptxas`
//! checks that a device accepts it, and prints what each kernel needs on that device. The versions
//! of both are pinned, so the same source produces the same bytes everywhere. The last line is
//! `N passed, N failed, N skipped`.

mod assembler;
mod budget;
mod source;

use std::path::Path;
use std::process::ExitCode;

use assembler::Need;
use budget::Budget;
use comfy_table::{CellAlignment, Table, presets};
use cuda_tasks::{Compiler, Toolkit};
use source::{Source, Sources};

use crate::TaskError;
use tasks::workspace::{self, Workspace};

/// The directories that contain kernels, relative to the root of the workspace.
const DIRECTORIES: &[&str] = &["testing/pool-kernels/cuda"];

/// The directories of crates that represent other people's crates. They are compiled and compared
/// in the same way, but have no budget.
const OF_OTHERS: &[&str] = &["testing/cudarc-user/kernels"];

/// The architectures for which the PTX is assembled: the oldest data-centre device that is still
/// common, and the device on which the tests have run.
const ARCHITECTURES: [&str; 2] = ["sm_80", "sm_90"];

/// The compiler options for all sources.
const OPTIONS: [&str; 2] = ["--gpu-architecture=compute_75", "--std=c++17"];

/// The arguments of `cargo xtask kernels`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing, and fail if the committed PTX differs from that of the sources.
    #[arg(long)]
    check: bool,
}

/// The counts of a run.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    complaints: Vec<String>,
}

/// Compiles all sources, writes or compares the PTX, and assembles it.
///
/// # Errors
///
/// Fails if a compiler cannot be used, or if a source does not compile. PTX that differs and
/// kernels that exceed their budget are counted, and set the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let Workspace { root, target_directory, .. } = workspace::describe()?;
    let toolkit = match Toolkit::obtain(&target_directory)? {
        Ok(toolkit) => toolkit,
        Err(why) if arguments.check => {
            println!("SKIPPED: {why}\n\n0 passed, 0 failed, 1 skipped");
            return Ok(ExitCode::SUCCESS);
        }
        Err(why) => return Err(why.into()),
    };
    let compiler = Compiler::open(&toolkit)?;
    let mut tally = Tally::default();
    for directory in DIRECTORIES {
        let directory = root.join(directory);
        let sources = compile(&compiler, &directory, arguments.check, &mut tally)?;
        weigh(&toolkit, &sources, &directory.join("budget.tsv"), &mut tally)?;
    }
    for directory in OF_OTHERS {
        compile(&compiler, &root.join(directory), arguments.check, &mut tally)?;
    }
    Ok(tally.close())
}

/// Compiles the sources in a directory, and writes or compares the PTX of each source.
fn compile(
    compiler: &Compiler,
    directory: &Path,
    check: bool,
    tally: &mut Tally,
) -> Result<Sources, TaskError> {
    let sources = Sources::read(directory)?;
    for module in &sources.modules {
        let ptx = ptx(compiler, module, &sources.headers)?;
        tally.count(write_or_compare(module, &ptx, check)?);
    }
    for file in &sources.left_over {
        tally.count(Some(format!("{} has no source", file.display())));
    }
    Ok(sources)
}

/// Returns the PTX for a source.
///
/// # Errors
///
/// Returns the compiler's message with the file and the line.
fn ptx(compiler: &Compiler, source: &Source, headers: &[Source]) -> Result<String, TaskError> {
    let pairs = headers.iter().map(|header| (header.name.as_str(), header.text.as_str()));
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let (ptx, log) = compiler.compile((&source.name, &source.text), &pairs, &OPTIONS)?;
    if !log.trim().is_empty() {
        return Err(format!("{}:\n{log}", source.name).into());
    }
    Ok(ptx)
}

/// Returns the difference if `check` is set. Otherwise writes the PTX.
fn write_or_compare(module: &Source, ptx: &str, check: bool) -> Result<Option<String>, TaskError> {
    if !check {
        std::fs::write(&module.ptx, ptx)?;
        return Ok(None);
    }
    let committed = std::fs::read_to_string(&module.ptx).unwrap_or_default();
    Ok(difference(&committed, ptx).map(|difference| {
        let file = module.ptx.display();
        format!(
            "{file} differs from the PTX for {}: {difference}; run cargo xtask kernels",
            module.name
        )
    }))
}

/// Returns the first line that differs between two texts.
fn difference(committed: &str, given: &str) -> Option<String> {
    if committed == given {
        return None;
    }
    let lines = || committed.lines().zip(given.lines()).enumerate();
    let at = lines().find(|(_, (old, new))| old != new);
    Some(match at {
        Some((line, (old, new))) => format!("line {}: {old:?} instead of {new:?}", line + 1),
        None => format!("{} bytes instead of {}", committed.len(), given.len()),
    })
}

/// Assembles the modules, prints what their kernels need, and compares this with the budget.
fn weigh(
    toolkit: &Toolkit,
    sources: &Sources,
    file: &Path,
    tally: &mut Tally,
) -> Result<(), TaskError> {
    let budget = Budget::read(file)?;
    let mut rows: Vec<[Need; 2]> = Vec::new();
    for module in &sources.modules {
        let [first, second] =
            ARCHITECTURES.map(|name| assembler::assemble(toolkit, &module.ptx, name));
        rows.extend(first?.into_iter().zip(second?).map(|(first, second)| [first, second]));
    }
    for needs in &rows {
        let complaints: Vec<String> =
            needs.iter().filter_map(|need| budget.complaint(need)).collect();
        tally.count((!complaints.is_empty()).then(|| complaints.join("; ")));
    }
    let kernels: Vec<&str> = rows.iter().map(|[need, _]| need.kernel.as_str()).collect();
    for unused in budget.without_kernel(&kernels) {
        tally.count(Some(format!("{unused} has a budget in {}, but no kernel", file.display())));
    }
    println!("{}", table(&rows, &budget));
    Ok(())
}

fn table(rows: &[[Need; 2]], budget: &Budget) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let [first, second] = ARCHITECTURES.map(|name| format!("registers {name}"));
    table.set_header(["kernel", &first, &second, "budget", "spilled", "shared bytes"]);
    for [first, second] in rows {
        let limit =
            budget.of(&first.kernel).map_or("none".to_owned(), |limit| limit.registers.to_string());
        table.add_row([
            first.kernel.clone(),
            first.registers.to_string(),
            second.registers.to_string(),
            limit,
            first.spilled.max(second.spilled).to_string(),
            first.shared.max(second.shared).to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

impl Tally {
    fn count(&mut self, complaint: Option<String>) {
        match complaint {
            None => self.passed += 1,
            Some(complaint) => self.complaints.push(complaint),
        }
    }

    fn close(self) -> ExitCode {
        for complaint in &self.complaints {
            println!("FAILED: {complaint}");
        }
        println!("\n{} passed, {} failed, 0 skipped", self.passed, self.complaints.len());
        if self.complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use super::{DIRECTORIES, OF_OTHERS, difference};
    use tasks::workspace::{self, Workspace};

    #[test]
    fn the_first_differing_line_is_reported() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").unwrap(), "line 2: \"b\" instead of \"c\"");
        assert_eq!(difference("a\nb\n", "a\nb").unwrap(), "4 bytes instead of 3");
        assert!(difference("", "a\n").is_some());
    }

    /// On a machine without a compiler, no other test detects a source whose PTX was never
    /// generated.
    #[test]
    fn every_source_has_its_ptx_and_its_budget() {
        let workspace: Workspace = workspace::describe().unwrap();
        for directory in DIRECTORIES.iter().chain(OF_OTHERS) {
            let sources = super::Sources::read(&workspace.root.join(directory)).unwrap();
            assert!(sources.left_over.is_empty());
            assert!(sources.modules.iter().all(|module| module.ptx.is_file()));
        }
        for directory in DIRECTORIES {
            super::Budget::read(&workspace.root.join(directory).join("budget.tsv")).unwrap();
        }
    }
}
