//! Prints the table of `docs/measurements/2026-11-25-planner.md` that compares the planner with
//! `MiniMalloc` on packings with almost no spare room.
//!
//! `cargo bench -p pool-plan-cli --bench tight -- --minimalloc PATH [--instances FOLDER]`. `PATH`
//! is the `minimalloc` command, built from its sources with optimisation. `FOLDER` is the folder
//! `benchmarks/challenging` in the same sources. Without `--minimalloc`, `MiniMalloc` is left out,
//! and a message is printed.
//!
//! Both commands run on the same files, one after the other, on one thread, with the same limit on
//! CPU time. The comparison uses CPU time because other work on the machine affects it little.
//!
//! `--idealloc PATH`, with the path of the `idealloc` command, adds a second table for the networks
//! in `crates/pool-plan/tests/data`.
//!
//! If an option is not given, the path is taken from `POOL_MINIMALLOC`, `POOL_MINIMALLOC_INSTANCES`
//! or `POOL_IDEALLOC`. With these variables set, `cargo bench -p pool-plan-cli --no-fail-fast`
//! prints all tables of that page.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failing benchmark panics, and its numbers are small"
)]

#[path = "support/cpu.rs"]
#[allow(dead_code, reason = "only commands are measured here")]
mod cpu;
#[path = "../../../crates/pool-plan/tests/support/held_out.rs"]
#[allow(dead_code, reason = "networks are not tight packings")]
mod held_out;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use pool_plan::IntervalProblem;
use pool_replay::csv;

use cpu::{Whose, limited, number_after};

/// The capacity within which every problem can be placed.
const CAPACITY: u64 = 1 << 20;

#[derive(Debug, Parser)]
struct Arguments {
    /// The path of the `minimalloc` command. Without it, only this planner is measured.
    #[arg(long)]
    minimalloc: Option<PathBuf>,
    /// The path of the `idealloc` command. Without it, networks are left out.
    #[arg(long)]
    idealloc: Option<PathBuf>,
    /// The folder of `MiniMalloc`'s own instances. Without it, only the five instances in the
    /// tests' data are used.
    #[arg(long)]
    instances: Option<PathBuf>,
    /// The seconds of CPU time for each file.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// The number of problems of each generated family.
    #[arg(long, default_value_t = 5)]
    problems: u64,
    /// The seed of each family's first problem. Tuning only used seeds below 9000.
    #[arg(long, default_value_t = 9000)]
    first_seed: u64,
    /// Only run families whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Write the files into this folder, and keep them.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Set by `cargo bench`. Without this flag, as in `cargo test`, one file is solved.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The name of a family, and its files, each with a name.
struct Family {
    name: String,
    files: Vec<(String, String)>,
}

/// The result of a command for one file.
#[derive(Clone, Copy, Debug)]
struct Run {
    is_solved: bool,
    /// The CPU time of all its threads in seconds.
    seconds: f64,
}

impl Arguments {
    /// Fills in options from variables. Options that neither the command line nor a variable
    /// specifies stay unset.
    fn with_variables(self) -> Self {
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        Self {
            minimalloc: self.minimalloc.or_else(|| path("POOL_MINIMALLOC")),
            instances: self.instances.or_else(|| path("POOL_MINIMALLOC_INSTANCES")),
            idealloc: self.idealloc.or_else(|| path("POOL_IDEALLOC")),
            ..self
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse().with_variables();
    let folder = arguments.write.clone().unwrap_or_else(|| {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tight-{}", std::process::id()))
    });
    std::fs::create_dir_all(&folder)?;
    if arguments.minimalloc.is_none() {
        println!("SKIPPED: MiniMalloc: neither --minimalloc nor POOL_MINIMALLOC names its path");
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let ratios = ["median ratio", "by both"];
    table.set_header(
        ["family", "files", "this", "median s", "MiniMalloc", "median s"].into_iter().chain(ratios),
    );
    let mut families = families(&arguments)?;
    families.retain(|family| family.name.contains(&arguments.only));
    if !arguments.bench {
        families.truncate(1);
        families.iter_mut().for_each(|family| family.files.truncate(1));
    }
    for family in families {
        table.add_row(row(&family, &folder, &arguments)?);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    match &arguments.idealloc {
        None => println!("SKIPPED: idealloc: neither --idealloc nor POOL_IDEALLOC names its path"),
        Some(command) => println!("{}", networks(command)?),
    }
    if arguments.write.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

/// Returns all families: the instances themselves, variants of them, and rectangles cut into
/// pieces.
fn families(arguments: &Arguments) -> Result<Vec<Family>, Box<dyn Error>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/pool-plan/tests/data");
    let folder = arguments.instances.as_ref().unwrap_or(&own);
    let mut instances = Vec::new();
    for letter in 'A'..='K' {
        if let Ok(text) = std::fs::read_to_string(folder.join(format!("{letter}.1048576.csv"))) {
            instances.push((letter, csv::read(&text, csv::CsvOptions::default())?));
        }
    }
    let seeds = arguments.first_seed..arguments.first_seed + arguments.problems;
    let mut families = vec![Family {
        name: "MiniMalloc's own".to_owned(),
        files: instances.iter().map(|(name, one)| (name.to_string(), text(one))).collect(),
    }];
    for (cuts, what) in [(false, "shuffled"), (true, "with cuts")] {
        for (letter, instance) in &instances {
            let make = |seed| held_out::refitted(instance, cuts, seed);
            families.push(generated(format!("{letter} {what}"), seeds.clone(), make)?);
        }
    }
    for count in [60, 100, 150, 200, 300, 450] {
        let make = |seed| held_out::cut_out(count, seed);
        families.push(generated(format!("{count} pieces"), seeds.clone(), make)?);
    }
    for count in [60, 100, 150, 200, 300] {
        let make = |seed| held_out::pinwheels(count, seed);
        families.push(generated(format!("{count} pinwheel pieces"), seeds.clone(), make)?);
    }
    Ok(families)
}

fn generated(
    name: String,
    seeds: impl Iterator<Item = u64>,
    make: impl Fn(u64) -> Result<IntervalProblem, pool_plan::PlanError>,
) -> Result<Family, Box<dyn Error>> {
    let mut files = Vec::new();
    for seed in seeds {
        files.push((format!("{name} {seed}").replace(' ', "-"), text(&make(seed)?)));
    }
    Ok(Family { name, files })
}

/// A problem as a file that both commands can read.
fn text(problem: &IntervalProblem) -> String {
    let mut text = String::from("id,lower,upper,size\n");
    for one in problem.buffers() {
        text.push_str(&format!("{},{},{},{}\n", one.id, one.lower, one.upper, one.size));
    }
    text
}

fn row(
    family: &Family,
    folder: &Path,
    arguments: &Arguments,
) -> Result<Vec<String>, Box<dyn Error>> {
    let mut runs = Vec::new();
    for (name, text) in &family.files {
        let file = folder.join(format!("{name}.csv"));
        std::fs::write(&file, text)?;
        let this = this(&file, arguments.seconds)?;
        let other = arguments.minimalloc.as_deref();
        let other =
            other.map(|command| minimalloc(command, &file, arguments.seconds)).transpose()?;
        println!("{name}: {this:?}, MiniMalloc {other:?}");
        runs.push((this, other));
    }
    let ours: Vec<Run> = runs.iter().map(|run| run.0).collect();
    let theirs: Vec<Run> = runs.iter().filter_map(|run| run.1).collect();
    let both = runs.iter().filter_map(|&(this, other)| Some((this, other?)));
    let both = both.filter(|(this, other)| this.is_solved && other.is_solved);
    let ratios: Vec<f64> = both.map(|(this, other)| this.seconds / other.seconds).collect();
    let count = ratios.len();
    let seconds = |runs: &[Run]| median(runs.iter().map(|run| run.seconds).collect());
    let solved = |runs: &[Run]| runs.iter().filter(|run| run.is_solved).count().to_string();
    Ok(vec![
        family.name.clone(),
        runs.len().to_string(),
        solved(&ours),
        shown(seconds(&ours)),
        if theirs.is_empty() { "-".to_owned() } else { solved(&theirs) },
        shown(seconds(&theirs)),
        shown(median(ratios)),
        count.to_string(),
    ])
}

fn shown(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:.3}"))
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}

/// Runs this planner. If it returns a plan, the plan is read back and validated.
fn this(file: &Path, seconds: u64) -> Result<Run, Box<dyn Error>> {
    let mut command = limited(Path::new(env!("CARGO_BIN_EXE_pool-plan")), seconds);
    let plan = file.with_extension("plan.csv");
    command.args(["solve", "--threads", "1", "--budget", "3600s", "--json"]);
    command.arg("--capacity").arg(CAPACITY.to_string()).arg("--out").arg(&plan).arg(file);
    let run = measured(command)?;
    if run.is_solved {
        let options = csv::CsvOptions { fixed: true, ..csv::CsvOptions::default() };
        let problem = csv::read(&std::fs::read_to_string(&plan)?, options)?;
        let offsets: Option<Vec<u64>> = problem.buffers().iter().map(|one| one.offset).collect();
        assert!(problem.validate(&offsets.unwrap())? <= CAPACITY, "the plan exceeds the capacity");
    }
    Ok(run)
}

fn minimalloc(path: &Path, file: &Path, seconds: u64) -> Result<Run, Box<dyn Error>> {
    let mut command = limited(path, seconds);
    command.arg(format!("--capacity={CAPACITY}"));
    command.arg(format!("--input={}", file.display()));
    command.arg(format!("--output={}", file.with_extension("minimalloc.csv").display()));
    measured(command)
}

/// Shows how close this planner and `idealloc` come to the bound on the networks of the tests, and
/// the CPU time of each.
fn networks(idealloc: &Path) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["network", "bound", "this", "CPU s", "idealloc", "CPU s"]);
    for name in ["iree_mobilebert", "iopddl_G_1", "resnet50", "bert_base", "pangu_13B"] {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/pool-plan/tests/data");
        let file = folder.join(format!("{name}.csv"));
        let text = std::fs::read_to_string(&file)?;
        let bound = csv::read(&text, csv::CsvOptions::default())?.lower_bound().bytes;
        let mut row = vec![name.to_owned(), bound.to_string()];
        let mut this = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
        this.args(["solve", "--threads", "1", "--budget", "10s", "--json"]).arg(&file);
        let mut other = Command::new(idealloc);
        other.args(["--max-lives", "5", "--input"]).arg(&file).arg("ex-csv");
        for (command, before) in [(&mut this, "\"peak\":"), (&mut other, "Makespan:")] {
            let start = children()?;
            let output = command.output()?;
            let seconds = children()? - start;
            let peak = number_after(&String::from_utf8_lossy(&output.stdout), before);
            let ratio = peak.map(|peak| peak as f64 / bound as f64);
            row.push(ratio.map_or_else(|| "fails".to_owned(), |ratio| format!("{ratio:.4}")));
            row.push(shown(Some(seconds)));
        }
        table.add_row(row);
    }
    Ok(table)
}

fn measured(mut command: Command) -> Result<Run, Box<dyn Error>> {
    let before = children()?;
    let status = command.status()?;
    Ok(Run { is_solved: status.success(), seconds: children()? - before })
}

/// Returns the CPU time of all commands so far in seconds.
fn children() -> Result<f64, Box<dyn Error>> {
    cpu::seconds(Whose::Commands)
}
