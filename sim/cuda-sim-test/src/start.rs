//! Starts the simulator as the driver of this process.

use cuda_sim::settings::Settings;

use crate::error::StartError;
use crate::exit;
use crate::image::image;
use crate::loader::{self, NAMES};
use crate::options::Options;
use crate::simulator::Simulator;
use crate::state::running_options;

/// Starts the simulated driver in this process with the settings from the environment, unless it is
/// already running. Call this before the first call of cudarc. The crate's page lists the
/// variables.
///
/// # Panics
///
/// Panics with the error that [`try_start`] returns.
#[expect(clippy::must_use_candidate, reason = "most tests only need the start")]
pub fn start() -> Simulator {
    start_with(|_| {})
}

/// Starts the simulated driver in this process with the settings from the environment, unless it is
/// already running.
///
/// # Errors
///
/// Fails if an environment variable has an invalid value, or if this process has already loaded
/// another driver. It also fails if the simulator is already running with other settings, or if the
/// system's loader does not support it.
pub fn try_start() -> Result<Simulator, StartError> {
    try_start_with(|_| {})
}

/// Starts a simulated machine whose settings differ from those in the environment, for example with
/// two devices or less memory.
///
/// ```
/// let simulator = cuda_sim_test::start_with(|machine| machine.devices = 2);
/// assert_eq!(cudarc::driver::CudaContext::device_count(), Ok(2));
/// assert!(simulator.reports().is_empty());
/// ```
///
/// # Panics
///
/// Panics with the error that [`try_start_with`] returns.
pub fn start_with(change: impl FnOnce(&mut Settings)) -> Simulator {
    #[expect(clippy::panic, reason = "documented; `try_start_with` returns a result instead")]
    try_start_with(change).unwrap_or_else(|error| panic!("{error}"))
}

/// Starts a simulated machine whose settings differ from those in the environment.
///
/// # Errors
///
/// Fails in the same cases as [`try_start`]. If the simulator is running with other settings, this
/// is an error.
pub fn try_start_with(change: impl FnOnce(&mut Settings)) -> Result<Simulator, StartError> {
    let mut wanted = Options::from_environment()?;
    change(&mut wanted.machine);
    let mut running = running_options();
    if let Some(Options { machine, .. }) = &*running {
        if *machine == wanted.machine {
            return Ok(Simulator::new());
        }
        return Err(StartError::StartedOtherwise {
            running: Box::new(machine.clone()),
            wanted: Box::new(wanted.machine),
        });
    }
    become_the_driver()?;
    if !cuda_sim::start_anew(&wanted.machine) {
        return Err(StartError::NoThread);
    }
    exit::register(wanted.leaks, wanted.machine.seed)?;
    *running = Some(wanted);
    Ok(Simulator::new())
}

/// Returns the simulator if it is running as the driver of this process.
#[must_use]
pub fn running() -> Option<Simulator> {
    running_options().is_some().then(Simulator::new)
}

/// Makes the dynamic loader return the simulator for the names of a driver.
fn become_the_driver() -> Result<(), StartError> {
    if let Some(library) = NAMES.into_iter().find(|name| loader::is_another_driver(name)) {
        return Err(StartError::AnotherDriver { library });
    }
    let functions: Vec<(&str, u64)> = cuda_sim::symbols()
        .map(|(name, address)| (name, address.expose_provenance() as u64))
        .collect();
    let mark = functions.iter().find(|(name, _)| *name == "simcuda_is_simulator");
    let mark = mark.and_then(|(_, address)| usize::try_from(*address).ok()).unwrap_or(0);
    for name in NAMES {
        let system = StartError::System { system: std::env::consts::ARCH };
        let image = image(name, &functions).ok_or(system)?;
        loader::load(name, &image, mark)?;
    }
    Ok(())
}
