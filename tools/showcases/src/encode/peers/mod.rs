//! `cargo xtask encode --peers`: compares the encoder with torch, ONNX Runtime and candle on real
//! weights, in one run, and prints tables.
//!
//! Each encoder runs in its own process with one thread, and all encode the same sentences. They
//! alternate after a few forward passes, so anything that slows down the machine for a while
//! affects all of them. Their results must agree.

mod agreement;
#[path = "../../../../../encoder/src/peers/forward.rs"]
#[allow(unreachable_pub, reason = "another program includes it")]
mod forward;
mod process;
mod run;
mod sentences;
mod shape;
mod table;
mod way;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::forward::Forward;
use self::process::Process;
use self::run::Run;
pub(super) use self::shape::Shape;
use self::way::Way;
use tasks::TaskError;
use tasks::programs;
use tasks::workspace::Workspace;

/// The file with the text that is encoded. It is in English, and the same in every checkout.
const TEXT: &str = "LICENSE-APACHE";
/// The number of initial rounds that are not counted. After them, memory and caches are in their
/// steady state.
const WARM_UP: usize = 2;

/// Measures all available encoders with a model and a Python, and prints a table for each of these
/// shapes. If no shape is given, all shapes are measured.
///
/// # Errors
///
/// Fails if a program cannot be built or run, if two encoders do not agree, or if a pooled forward
/// pass allocates heap memory or causes a page fault.
pub(super) fn run(
    workspace: &Workspace,
    model: &Path,
    python: &Path,
    shapes: &[Shape],
) -> Result<(), TaskError> {
    let folder = workspace.target_directory.join("encode").join("peers");
    fs::create_dir_all(&folder)?;
    let program = build(workspace)?;
    let ways = way::all(workspace, &program, python, model);
    let mut words = Command::new(&program);
    words.arg("--model").arg(model).arg("words").arg(workspace.root.join(TEXT));
    let words = sentences::parse(&programs::output(&mut words)?)?;
    for shape in shape::chosen(shapes) {
        let file = folder.join("sentences.txt");
        fs::write(&file, sentences::of(&words, shape.sentences, shape.tokens)?)?;
        let runs = measure(&ways, shape, &file, &folder)?;
        let differences = agreement::check(&runs)?;
        steady(&runs)?;
        println!("{shape} tokens\n{}\n", table::of(&runs, &differences));
    }
    println!("{}", table::EXPLANATION);
    Ok(())
}

/// Builds this project's encoder.
fn build(workspace: &Workspace) -> Result<PathBuf, TaskError> {
    let mut build = programs::cargo();
    build.args(["build", "--release", "--package", "pool-encoder", "--no-default-features"]);
    build.args(["--features", "peers", "--bin", "encoder-peers"]).current_dir(&workspace.root);
    let built = programs::build(&mut build)?;
    let program = built.into_iter().find_map(|artifact| artifact.executable);
    Ok(program.ok_or("cargo built no encoder-peers")?)
}

/// Runs all encoders alternately.
fn measure(
    ways: &[Way],
    shape: Shape,
    sentences: &Path,
    folder: &Path,
) -> Result<Vec<Run>, TaskError> {
    let start = |way| Process::start(way, sentences, folder);
    let mut processes: Vec<Process<'_>> = ways.iter().map(start).collect::<Result<_, _>>()?;
    let progress = crate::progress::bar((WARM_UP + shape.turns) * processes.len());
    for turn in 0..WARM_UP + shape.turns {
        for process in &mut processes {
            progress.set_message(format!("{shape}: {}", process.name()));
            process.work(shape.forwards, turn >= WARM_UP)?;
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    processes.into_iter().map(Process::end).collect()
}

/// Checks that a pooled forward pass allocates nothing and, if faults are counted, causes no page
/// fault.
fn steady(runs: &[Run]) -> Result<(), TaskError> {
    let pooled = runs.first().ok_or("there are no runs")?;
    let needs = |forward: &&Forward| forward.allocations != Some(0) || forward.faults > Some(0);
    match pooled.forwards.iter().find(needs) {
        None => Ok(()),
        Some(forward) => {
            Err(format!("a forward pass of {} in steady state: {forward}", pooled.name).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Forward, Run, steady};

    #[test]
    fn an_allocation_or_a_fault_of_the_pool_is_refused_and_one_of_another_is_not() {
        let run = |allocations: &[Option<u64>]| {
            let forward = |allocations: &Option<u64>| Forward {
                allocations: *allocations,
                ..Forward::default()
            };
            let forwards = allocations.iter().map(forward).collect();
            Run { name: "it".to_owned(), forwards, numbers: vec![] }
        };
        assert!(steady(&[run(&[Some(0), Some(0)]), run(&[Some(3)])]).is_ok());
        assert!(steady(&[run(&[Some(0), Some(1)])]).is_err());
        assert!(steady(&[run(&[None])]).is_err());
        assert!(steady(&[]).is_err());
        let mut faulting = run(&[Some(0), Some(0)]);
        faulting.forwards[1].faults = Some(0);
        assert!(steady(std::slice::from_ref(&faulting)).is_ok());
        faulting.forwards[1].faults = Some(1);
        assert!(steady(&[faulting]).is_err());
    }
}
