//! The binaries of `benches`: built, run, and their JSON read.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;

use super::callgrind;
use super::record::{Count, Held, Timing};
use crate::TaskError;
use tasks::programs;

/// An allocator with a binary of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocator {
    /// Its name in columns and features.
    pub(crate) name: &'static str,
    /// Its binary.
    binary: &'static str,
}

impl Allocator {
    pub(crate) const MIMALLOC: Self = Self { name: "mimalloc", binary: "cases-mimalloc" };
    pub(crate) const JEMALLOC: Self = Self { name: "jemalloc", binary: "cases-jemalloc" };
}

/// The extent of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Batches of each case.
    batches: u32,
    /// Microseconds of a batch.
    batch_time: u32,
    /// Processes for each large case.
    processes: u32,
}

impl Effort {
    pub(crate) const QUICK: Self = Self { batches: 41, batch_time: 200, processes: 3 };
    pub(crate) const FULL: Self = Self { batches: 61, batch_time: 1_000, processes: 5 };
}

/// Scopes that a process times for a large case: with 5 processes more than 41 batches.
const LARGE_PASSES: &str = "15";

/// The columns that differ between allocators.
const HEAP_COLUMNS: [&str; 2] = ["with_capacity", "vec![0; n]"];

/// The built binaries.
#[derive(Debug)]
pub(crate) struct Programs {
    cases: PathBuf,
    counting: PathBuf,
    allocators: Vec<(Allocator, PathBuf)>,
}

impl Programs {
    /// Builds them in release, as in a user's crate.
    pub(crate) fn build(allocators: &[Allocator]) -> Result<Self, TaskError> {
        let mut features = Vec::new();
        for allocator in allocators {
            features.extend(["--features", allocator.name]);
        }
        let built = build(&features)?;
        let named = |name: &str| {
            let found = built.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
            found.cloned().ok_or_else(|| format!("cargo built no binary {name}"))
        };
        let with_path = |one: &Allocator| Ok::<_, TaskError>((*one, named(one.binary)?));
        Ok(Self {
            cases: named("cases")?,
            counting: named("cases-counting")?,
            allocators: allocators.iter().map(with_path).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the times of the cases in interleaved batches. For allocators other than the
    /// system's, each has a process, and the heap columns have the allocator's name.
    pub(crate) fn times(&self, effort: Effort) -> Result<Vec<Timing>, TaskError> {
        let batches = effort.batches.to_string();
        let batch_time = effort.batch_time.to_string();
        let arguments = ["time", "--batches", &batches, "--batch-time", &batch_time];
        let mut timings: Vec<Timing> = read(&self.cases, &arguments)?;
        for (allocator, binary) in &self.allocators {
            let mut arguments = arguments.to_vec();
            for column in HEAP_COLUMNS {
                arguments.extend(["--column", column]);
            }
            let more: Vec<Timing> = read(binary, &arguments)?;
            timings.extend(more.into_iter().map(|timing| under(*allocator, timing)));
        }
        Ok(timings)
    }

    /// Returns the times of the large cases, a new process each, several times in turns.
    pub(crate) fn large_times(&self, effort: Effort) -> Result<Vec<Timing>, TaskError> {
        let cases: usize = read(&self.cases, &["large-cases"])?;
        let mut timings: Vec<Timing> = Vec::new();
        for _ in 0..effort.processes {
            for case in 0..cases {
                let number = case.to_string();
                let arguments = ["large", &number, "--passes", LARGE_PASSES];
                let timing: Timing = read(&self.cases, &arguments)?;
                let on_heap = HEAP_COLUMNS.contains(&timing.name.column.as_str());
                add(&mut timings, timing);
                for (allocator, binary) in self.allocators.iter().filter(|_| on_heap) {
                    add(&mut timings, under(*allocator, read(binary, &arguments)?));
                }
            }
        }
        Ok(timings)
    }

    /// Returns the times of one thread and of two.
    pub(crate) fn thread_times(&self, effort: Effort) -> Result<Vec<Timing>, TaskError> {
        read(&self.cases, &["threads", "--batches", &effort.batches.to_string()])
    }

    /// Counts the heap allocations of a pass.
    pub(crate) fn allocations(&self) -> Result<Vec<Count>, TaskError> {
        read(&self.counting, &["allocations"])
    }

    /// Returns the bytes that are held when lengths vary.
    pub(crate) fn held(&self) -> Result<Vec<Held>, TaskError> {
        read(&self.cases, &["held"])
    }

    /// Counts the instructions of a pass; the inner `Err` is the reason why callgrind is not
    /// available.
    pub(crate) fn instructions(&self) -> Result<Result<Vec<Count>, String>, TaskError> {
        callgrind::count(&self.cases)
    }
}

/// Adds the batches of another process to those of the same case.
fn add(timings: &mut Vec<Timing>, more: Timing) {
    let Some(known) = timings.iter_mut().find(|known| known.name == more.name) else {
        timings.push(more);
        return;
    };
    known.nanoseconds.extend(more.nanoseconds);
    known.minor_faults = known.minor_faults.zip(more.minor_faults).map(|(a, b)| a.max(b));
}

fn under(allocator: Allocator, mut timing: Timing) -> Timing {
    timing.name.column = format!("{}, {}", timing.name.column, allocator.name);
    timing
}

/// Puts every function of every column at the start of a cache line. Otherwise the layout of the
/// binary decides which cases of a nanosecond cost a cycle more, and a change anywhere moves all of
/// them.
const ALIGNED_FUNCTIONS: &str = "-Cllvm-args=-align-all-functions=6";

fn build(features: &[&str]) -> Result<Vec<PathBuf>, TaskError> {
    let mut cargo = programs::cargo();
    cargo.args(["build", "--release", "--package", "pool-benches", "--bins"]).args(features);
    cargo.env("RUSTFLAGS", with_given_flags(ALIGNED_FUNCTIONS));
    let built = programs::build(&mut cargo)?;
    Ok(built.into_iter().filter_map(|artifact| artifact.executable).collect())
}

/// Returns the flag together with those that the caller gave.
fn with_given_flags(flag: &str) -> String {
    let given = std::env::var("RUSTFLAGS").unwrap_or_default();
    format!("{given} {flag}").trim().to_owned()
}

fn read<T: DeserializeOwned>(binary: &PathBuf, arguments: &[&str]) -> Result<T, TaskError> {
    let output = Command::new(binary).args(arguments).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        let status = output.status;
        return Err(format!("{} {}: {status}", binary.display(), arguments.join(" ")).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
