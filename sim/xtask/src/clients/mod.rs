//! `cargo xtask clients`: the tests and kernels of other people's CUDA crates, on the simulated driver, and what their
//! compiler makes of random expressions.
//!
//! Cargo gets each crate from the registry, and pip each package of Python; nothing of them is changed, and nothing is
//! kept here but a list of the tests that cannot pass, each with its reason. A test that fails and is not in the list has found something, and so has one
//! that is in the list and passes: both make the command fail. What is built lies in `target/clients`.

mod candle;
mod cudarc;
mod differential;
mod driver;
mod forms;
mod listed;
mod numba;
mod place;

use std::process::ExitCode;

use tasks::TaskError;
use tasks::checks::Checks;

use place::Place;

/// What `cargo xtask clients` accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// These suites alone.
    #[arg(value_enum, value_name = "SUITE")]
    suites: Vec<Suite>,
    /// Run the tests that take many minutes, too.
    #[arg(long)]
    slow: bool,
    /// Leave out what takes more than some seconds: sources that compile for minutes.
    #[arg(long, conflicts_with = "slow")]
    short: bool,
    /// Of numba-cuda's modules run those alone whose names contain this, or another part that is given so.
    #[arg(long = "module", value_name = "PART")]
    modules: Vec<String>,
    /// Draw other expressions.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
}

/// Something that others wrote for CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Suite {
    /// The tests of cudarc's driver and NVRTC modules.
    Cudarc,
    /// The tests of numba-cuda.
    Numba,
    /// The kernels of candle-kernels: loaded, and some of them run.
    CandleKernels,
    /// Random expressions, compared with what the host computes.
    Differential,
    /// The forms of PTX that the simulator takes, given to NVIDIA's assembler.
    PtxForms,
}

/// Runs the suites that were asked for, or all.
///
/// # Errors
///
/// When a file cannot be read or written, and when a program cannot be built or started. A test that does not end as
/// expected is no such error: the exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let place = Place::find()?;
    let mut checks = Checks::default();
    let asked = &arguments.suites;
    let all = <Suite as clap::ValueEnum>::value_variants();
    for suite in all.iter().filter(|suite| asked.is_empty() || asked.contains(suite)) {
        match suite {
            Suite::Cudarc => cudarc::run(&place, arguments.slow, &mut checks)?,
            // It takes many minutes.
            Suite::Numba if arguments.short => {}
            Suite::Numba => {
                numba::run(&place, arguments.slow, &arguments.modules, &mut checks)?;
            }
            Suite::CandleKernels => candle::run(&place, arguments.short, &mut checks)?,
            // A build of the simulator's own tests, of which the short way has none.
            Suite::PtxForms if arguments.short => {}
            Suite::PtxForms => forms::run(&place, &mut checks)?,
            Suite::Differential => {
                differential::run(&place, arguments.short, arguments.seed, &mut checks)?;
            }
        }
    }
    println!("\n{checks}");
    Ok(checks.exit_code_of_optional())
}
