//! `cargo xtask gpu-archive`: the whole way of the GPU tests, from the build to the report, on a machine
//! without a GPU: the simulated driver stands where a driver would, disguised as one.
//!
//! The archive is built, carried into an empty directory and run there by the script as on a rented
//! machine: no variable but `PATH` and `HOME`, no cargo. Then everything that can be wrong is put in its
//! way. Each assertion is one line, and the last line counts them.

mod disguise;
mod machine;
mod refusals;
mod reports;
mod suitable;
mod whole;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::TaskError;
use crate::gpu_test::{Build, Packed, Purpose, Ready};
use disguise::{Disguised, Signs};
use machine::Machine;
use tasks::checks::Checks;

/// What `cargo xtask gpu-archive` accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Build as for a real device, in the profile `gpu`, and not as the tests are built.
    #[arg(long)]
    for_devices: bool,
}

/// What the assertions are about.
#[derive(Debug)]
struct Stage {
    ready: Ready,
    /// Where archives and drivers lie.
    machine: Machine,
    /// The simulated driver as it is.
    plain: Vec<u8>,
    /// The same as a driver, in a file of the machine.
    disguised: PathBuf,
    for_devices: bool,
}

/// Builds the archive and tries it.
///
/// # Errors
///
/// When something does not build, and when this machine cannot do what the assertions need. An assertion that
/// does not hold is no such error: the exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let stage = Stage::set(arguments.for_devices)?;
    let mut checks = Checks::default();
    whole::check(&stage, &mut checks)?;
    refusals::check(&stage, &mut checks)?;
    suitable::check(&stage, &mut checks)?;
    println!("\n{checks}");
    Ok(checks.exit_code())
}

impl Stage {
    fn set(for_devices: bool) -> Result<Self, TaskError> {
        let build = if for_devices { Build::ForDevices } else { Build::AsTests };
        let ready = Ready::build(build)?;
        let simulator = ready.simulator.as_ref().ok_or("cargo names no file of the simulator")?;
        let plain = std::fs::read(simulator)?;
        let machine = Machine::with_script(&ready.place.root)?;
        let driver = Disguised::of(&plain, Signs::NONE)?;
        let disguised = machine.put("disguised-driver.so", driver.bytes())?;
        Ok(Self { ready, machine, plain, disguised, for_devices })
    }

    /// The probe and the tests of the backend: enough where a run is to go wrong.
    fn few(&self) -> Vec<Packed> {
        let of_the_backend = |one: &&Packed| {
            one.program
                .path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("device_backend"))
        };
        self.some(|one| one.program.purpose == Purpose::Probe || of_the_backend(&one))
    }

    fn some(&self, wanted: impl Fn(&Packed) -> bool) -> Vec<Packed> {
        let tests = |one: &&Packed| one.program.purpose != Purpose::Bench && wanted(one);
        self.ready.packed.iter().filter(tests).cloned().collect()
    }
}
