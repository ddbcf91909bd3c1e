//! `cargo xtask clients`: the tests and kernels of other CUDA crates on the simulated driver, and
//! random expressions compiled by NVIDIA's compiler.
//!
//! Cargo downloads each crate from the registry, and pip downloads the Python packages. They run
//! unmodified. The repository only contains lists of the tests that cannot pass, with the reasons.
//! If a test fails that is not listed, or a listed test passes, the command fails. Builds are
//! stored in `target/clients`.

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

/// The arguments of `cargo xtask clients`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only these suites.
    #[arg(value_enum, value_name = "SUITE")]
    suites: Vec<Suite>,
    /// Also run the tests that take many minutes.
    #[arg(long)]
    slow: bool,
    /// Skip everything that takes more than some seconds, such as slow compilations.
    #[arg(long, conflicts_with = "slow")]
    short: bool,
    /// Run only modules of numba-cuda whose names contain one of these parts.
    #[arg(long = "module", value_name = "PART")]
    modules: Vec<String>,
    /// The seed of the expressions.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
}

/// A suite that belongs to another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Suite {
    /// The tests of cudarc's driver and NVRTC modules.
    Cudarc,
    /// The tests of numba-cuda.
    Numba,
    /// The kernels of candle-kernels: all are loaded, and some run.
    CandleKernels,
    /// Random expressions, compared with the host's results.
    Differential,
    /// The accepted forms of PTX, checked with NVIDIA's assembler.
    PtxForms,
}

/// Runs the requested suites, or all suites.
///
/// # Errors
///
/// Fails if a file cannot be read or written, or if a program cannot be built or started. An
/// unexpected test outcome is not returned as an error: it sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let place = Place::find()?;
    let mut checks = Checks::default();
    let asked = &arguments.suites;
    let all = <Suite as clap::ValueEnum>::value_variants();
    for suite in all.iter().filter(|suite| asked.is_empty() || asked.contains(suite)) {
        match suite {
            Suite::Cudarc => cudarc::run(&place, arguments.slow, &mut checks)?,
            // This suite takes many minutes.
            Suite::Numba if arguments.short => {}
            Suite::Numba => {
                numba::run(&place, arguments.slow, &arguments.modules, &mut checks)?;
            }
            Suite::CandleKernels => candle::run(&place, arguments.short, &mut checks)?,
            // This suite needs a build of the simulator's own tests, which a short run does not
            // make.
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
