//! The objects of the assertions: the archive, a machine for it, and the driver there.

use std::path::PathBuf;

use super::disguise::{Disguised, Signs};
use super::machine::Machine;
use crate::TaskError;
use crate::gpu_test::{Build, Packed, Purpose, Ready};

/// The objects of the assertions.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) ready: Ready,
    /// The machine with the archives and drivers.
    pub(super) machine: Machine,
    /// The simulated driver as it is.
    pub(super) plain: Vec<u8>,
    /// The same library, disguised as a driver, in a file of the machine.
    pub(super) disguised: PathBuf,
    pub(super) for_devices: bool,
}

impl Stage {
    pub(super) fn set(for_devices: bool) -> Result<Self, TaskError> {
        let build = if for_devices { Build::ForDevices } else { Build::AsTests };
        let ready = Ready::build(build)?;
        let simulator = ready.simulator.as_ref().ok_or("cargo names no file of the simulator")?;
        let plain = std::fs::read(simulator)?;
        let machine = Machine::with_script(&ready.place.root)?;
        let driver = Disguised::of(&plain, Signs::NONE)?;
        let disguised = machine.put("disguised-driver.so", driver.bytes())?;
        Ok(Self { ready, machine, plain, disguised, for_devices })
    }

    /// Returns the probe and the tests of the backend: enough for runs that are to fail.
    pub(super) fn few(&self) -> Vec<Packed> {
        let of_the_backend = |one: &&Packed| {
            one.program
                .path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("device_backend"))
        };
        self.some(|one| one.program.purpose == Purpose::Probe || of_the_backend(&one))
    }

    pub(super) fn some(&self, wanted: impl Fn(&Packed) -> bool) -> Vec<Packed> {
        let tests = |one: &&Packed| one.program.purpose != Purpose::Bench && wanted(one);
        self.ready.packed.iter().filter(tests).cloned().collect()
    }
}
