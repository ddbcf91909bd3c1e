//! Builds and runs the binaries of `benches`, and reads the JSON that they print.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;

use super::callgrind;
use super::record::{Count, Held, Timing};
use crate::TaskError;
use tasks::programs;

/// An allocator with its own binary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocator {
    /// The allocator's name in columns and features.
    pub(crate) name: &'static str,
    /// The name of the binary.
    binary: &'static str,
}

impl Allocator {
    pub(crate) const MIMALLOC: Self = Self { name: "mimalloc", binary: "cases-mimalloc" };
    pub(crate) const JEMALLOC: Self = Self { name: "jemalloc", binary: "cases-jemalloc" };
}

/// The amount of work in a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The number of batches for each case.
    batches: u32,
    /// The length of a batch in microseconds.
    batch_time: u32,
    /// The number of processes for each large case.
    processes: u32,
}

impl Effort {
    pub(crate) const QUICK: Self = Self { batches: 41, batch_time: 200, processes: 3 };
    pub(crate) const FULL: Self = Self { batches: 61, batch_time: 1_000, processes: 5 };
}

/// The number of scopes that a process times for a large case. In 5 processes, this gives 75 times,
/// which is more than the 61 batches of other cases.
const LARGE_PASSES: &str = "15";

/// The columns whose results depend on the allocator.
const HEAP_COLUMNS: [&str; 2] = ["with_capacity", "vec![0; n]"];

/// The binaries after they have been built.
#[derive(Debug)]
pub(crate) struct Programs {
    cases: PathBuf,
    counting: PathBuf,
    allocators: Vec<(Allocator, PathBuf)>,
}

impl Programs {
    /// Builds the binaries in release mode, like a user's crate.
    pub(crate) fn build(allocators: &[Allocator]) -> Result<Self, TaskError> {
        let mut features = Vec::new();
        for allocator in allocators {
            features.extend(["--features", allocator.name]);
        }
        let built = build(&features)?;
        let named = |name: &str| {
            let found = built.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
            found.cloned().ok_or_else(|| format!("cargo did not build the binary {name}"))
        };
        let with_path = |one: &Allocator| Ok::<_, TaskError>((*one, named(one.binary)?));
        Ok(Self {
            cases: named("cases")?,
            counting: named("cases-counting")?,
            allocators: allocators.iter().map(with_path).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the times of the cases, measured in interleaved batches. Each allocator other than
    /// the system's runs in its own process, and its name is added to the heap columns.
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

    /// Returns the times of the large cases. Each case runs several times, alternating with the
    /// others, in a new process each time.
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

    /// Returns the times for one thread and for two threads.
    pub(crate) fn thread_times(&self, effort: Effort) -> Result<Vec<Timing>, TaskError> {
        read(&self.cases, &["threads", "--batches", &effort.batches.to_string()])
    }

    /// Counts the heap allocations in a pass.
    pub(crate) fn allocations(&self) -> Result<Vec<Count>, TaskError> {
        read(&self.counting, &["allocations"])
    }

    /// Returns the number of bytes that are held while lengths vary.
    pub(crate) fn held(&self) -> Result<Vec<Held>, TaskError> {
        read(&self.cases, &["held"])
    }

    /// Counts the instructions in a pass. The inner error states why callgrind is not available.
    pub(crate) fn instructions(&self) -> Result<Result<Vec<Count>, String>, TaskError> {
        callgrind::count(&self.cases)
    }
}

/// Adds the batches from another process to the timing of the same case.
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

/// Places every function in every column at the start of a cache line. Otherwise, the layout of the
/// binary determines which of the nanosecond cases take an extra cycle, and any change in the code
/// affects all of them.
const ALIGNED_FUNCTIONS: &str = "-Cllvm-args=-align-all-functions=6";

fn build(features: &[&str]) -> Result<Vec<PathBuf>, TaskError> {
    let mut cargo = programs::cargo();
    cargo.args(["build", "--release", "--package", "pool-benches", "--bins"]).args(features);
    cargo.env("RUSTFLAGS", with_given_flags(ALIGNED_FUNCTIONS));
    let built = programs::build(&mut cargo)?;
    Ok(built.into_iter().filter_map(|artifact| artifact.executable).collect())
}

/// Returns the flag together with the flags that the caller has set.
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
