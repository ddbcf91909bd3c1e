//! The project's own tasks: `cargo xtask <task>`.
//!
//! Each task is one module with an `Arguments` type that clap fills in and a `run` function. A new
//! task is a module, a variant of [`Task`] and an arm in [`main`].

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// assembly, bench, cuda_versions, dlpack, kernels, mutants, showcase, web: nothing
// test: web
// gpu_test, imports, packages, quick: test
// gpu_archive: gpu_test
// sim_test: gpu_test, test

mod assembly;
mod bench;
mod cuda_versions;
mod dlpack;
mod gpu_archive;
mod gpu_test;
mod imports;
mod kernels;
mod mutants;
mod packages;
mod quick;
mod showcase;
mod sim_test;
mod test;
mod web;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tasks::TaskError;

/// The command line of `cargo xtask`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about, version)]
struct CommandLine {
    #[command(subcommand)]
    task: Task,
}

/// The tasks of this project.
#[derive(Debug, Subcommand)]
enum Task {
    /// Add a pool to other people's crates, run the crates' own tests, and measure before and
    /// after.
    Adopt(showcase::Arguments),
    /// Print the machine code of the hot path, and count its instructions.
    Assembly,
    /// Compare the pool with other libraries, and write `docs/measurements/benchmarks.md`.
    Bench(bench::Arguments),
    /// Check that the CUDA crates build with the cudarc features that other crates request.
    CudaVersions(cuda_versions::Arguments),
    /// Run two real workloads with and without a pool, and print the differences.
    Demo(showcase::Arguments),
    /// Exchange arrays between pools and numpy or torch, without copying.
    Dlpack(dlpack::Arguments),
    /// Encode sentences with a model that runs in pools, and print how similar the sentences are.
    Encode(showcase::Arguments),
    /// Test the archive of GPU tests, its script and its reports on the simulated CUDA driver.
    GpuArchive(gpu_archive::Arguments),
    /// Build the GPU tests, and run them on this machine's GPU or pack them for another machine.
    GpuTest(gpu_test::Arguments),
    /// Check the imports between modules and crates against the layering.
    Imports(tasks::imports::Arguments),
    /// Generate the PTX of the CUDA kernels, or check the committed PTX, and print what the kernels
    /// need.
    Kernels(kernels::Arguments),
    /// Follow every link of the documents.
    Links,
    /// Introduce small faults into the sources, one at a time, and check that a test fails.
    Mutants(mutants::Arguments),
    /// Package the published crates, and build a user's crate with only these packages.
    Packages(packages::Arguments),
    /// Check what a branch changes, in under two minutes: formatting, lints, unit tests, links.
    Quick(tasks::quick::Arguments),
    /// Run the tests that use the simulated CUDA driver, each in its own process.
    SimTest(cuda_tasks::sim_test::Arguments),
    /// Run every check of the repository; the last line counts them.
    Test(tasks::steps::Arguments),
    /// Build the pools for a browser and serve a demonstration page, or test them in a browser.
    Web(web::Arguments),
    /// Check the sentences of comments, documents and commits against the rules of `docs/writing.md`.
    Words(tasks::words::Arguments),
}

/// The files whose prose `cargo xtask words` checks. Other workspaces check their own files.
const WORDS: tasks::words::Scope<'_> = tasks::words::Scope {
    except: &["planner", "sim"],
    table: "xtask/words.txt",
    commits_since: Some("b3c5ab04"),
    distinct_types_of: test::features::LIBRARIES,
};

fn main() -> ExitCode {
    let outcome: Result<ExitCode, TaskError> = match CommandLine::parse().task {
        Task::Adopt(arguments) => showcase::run("adopt", &arguments),
        Task::Assembly => assembly::run(),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::CudaVersions(arguments) => cuda_versions::run(&arguments),
        Task::Demo(arguments) => showcase::run("demo", &arguments),
        Task::Dlpack(arguments) => dlpack::run(&arguments),
        Task::Encode(arguments) => showcase::run("encode", &arguments),
        Task::GpuArchive(arguments) => gpu_archive::run(&arguments),
        Task::GpuTest(arguments) => gpu_test::run(&arguments),
        Task::Imports(arguments) => imports::run(&arguments),
        Task::Kernels(arguments) => kernels::run(&arguments),
        // The tasks of other workspaces check the links in their own documents.
        Task::Links => tasks::links::run(&["planner", "sim"]),
        Task::Mutants(arguments) => mutants::run(&arguments),
        Task::Packages(arguments) => packages::run(&arguments),
        Task::Quick(arguments) => quick::run(&arguments),
        Task::SimTest(arguments) => sim_test::run(&arguments),
        Task::Test(arguments) => test::run(&arguments),
        Task::Web(arguments) => web::run(&arguments),
        Task::Words(arguments) => tasks::words::run(&arguments, &WORDS),
    };
    tasks::finish(outcome)
}
