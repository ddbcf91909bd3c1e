//! `cargo xtask encode --bytes`: prints how much memory the encoder's temporaries need with each
//! method, as a table.
//!
//! A dry run of the model on the simulated driver reports its acquires, and how much a pool and the
//! graphs' arena hold. `pool-plan replay` reports the exact bound, and how much PyTorch's allocator
//! would hold for the same arrays.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use serde::Deserialize;

use cuda_tasks::sim_test::simulated_driver;
use tasks::TaskError;
use tasks::programs::cargo;
use tasks::workspace::Workspace;

/// The number of sentences in a batch, and the number of tokens in each sentence.
const SENTENCES: &str = "8";
const TOKENS: [&str; 4] = ["16", "32", "64", "128"];

/// The fields of `pool-plan replay --json` that this task uses.
#[derive(Deserialize)]
struct Replayed {
    consistent: bool,
    devices: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    bound: Option<u64>,
    allocators: Vec<Allocator>,
}

#[derive(Deserialize)]
struct Allocator {
    allocator: String,
    held: Option<u64>,
}

/// Writes the logs, replays them, and prints the table.
///
/// # Errors
///
/// Fails if a program cannot be built, if it fails, or if its output cannot be parsed.
pub(super) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    let logs = workspace.target_directory.join("encode").join("bytes");
    let mut dry_run = cargo();
    dry_run.args(["run", "--quiet", "--package", "pool-encoder", "--features", "bytes"]);
    dry_run.args(["--bin", "encoder-bytes", "--", "--sentences", SENTENCES, "--tokens"]);
    dry_run.args(TOKENS).arg("--logs").arg(&logs);
    let text = said(dry_run.env("LD_LIBRARY_PATH", simulated_driver()?))?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "way",
        "tokens",
        "all arrays",
        "exact bound",
        "held here",
        "of the bound",
        "PyTorch's",
    ]);
    let (mut held_by_graphs, mut held_by_torch, mut arena) = (0, 0, None);
    for line in text.lines() {
        let [way, numbers @ ..] = &line.split(' ').collect::<Vec<_>>()[..] else { continue };
        let numbers: Vec<u64> =
            numbers.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let [tokens, sum, live, held] = numbers[..] else {
            arena = numbers.first().copied();
            continue;
        };
        let (bound, torch) = replayed(&logs.join(format!("{way}-{tokens}.jsonl")))?;
        if bound != live {
            return Err(format!(
                "at most {live} bytes were live, but pool-plan's bound is {bound}"
            )
            .into());
        }
        if *way == "graph" {
            held_by_graphs += held;
            held_by_torch += torch;
        }
        let bytes = [sum, bound, held].map(mebibytes);
        let ratio = format!("{:.3}", ratio(held, bound));
        table.add_row(
            [(*way).to_owned(), tokens.to_string()]
                .into_iter()
                .chain(bytes)
                .chain([ratio, mebibytes(torch)]),
        );
    }
    let arena = arena.ok_or("the dry run does not report the size of the arena")?;
    let (bound, torch) = replayed(&logs.join("ladder.jsonl"))?;
    table
        .column_iter_mut()
        .skip(1)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("{SENTENCES} sentences, in MiB, without weights, inputs, and outputs\n{table}");
    println!(
        "All graphs: {} with one arena each, and {} with a shared arena. The size of the shared arena is known before \
         the capture. The bound for running the graphs in sequence is {}.\nPyTorch: {} with one private pool each, and {} \
         with a shared pool.",
        mebibytes(held_by_graphs),
        mebibytes(arena),
        mebibytes(bound),
        mebibytes(held_by_torch),
        mebibytes(torch)
    );
    Ok(())
}

/// Returns the exact bound for a log, and how much PyTorch's allocator would hold.
fn replayed(log: &Path) -> Result<(u64, u64), TaskError> {
    let mut replay = cargo();
    replay.args(["run", "--quiet", "--manifest-path", "planner/Cargo.toml"]);
    replay.args(["--package", "pool-plan-cli", "--"]);
    replay.args(["replay", "--json", "--allocator", "caching", "--allocator", "planned"]).arg(log);
    let Replayed { consistent, devices } = serde_json::from_str(&said(&mut replay)?)?;
    let device =
        devices.into_iter().next().filter(|_| consistent).ok_or("the log is impossible")?;
    let held = |name| device.allocators.iter().find(|one| one.allocator == name)?.held;
    match (device.bound, held("caching")) {
        (Some(bound), Some(torch)) => Ok((bound, torch)),
        _ => Err(format!("{}: pool-plan reports no bound", log.display()).into()),
    }
}

/// Runs a program, and returns its output if the program succeeds.
fn said(command: &mut std::process::Command) -> Result<String, TaskError> {
    let answer = command.stderr(std::process::Stdio::inherit()).output()?;
    if !answer.status.success() {
        return Err(format!("{command:?} failed").into());
    }
    Ok(String::from_utf8(answer.stdout)?)
}

#[expect(clippy::cast_precision_loss, reason = "some digits are shown")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.2}", ratio(bytes, 1 << 20))
}
