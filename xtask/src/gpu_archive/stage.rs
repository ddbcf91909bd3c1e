//! The objects that the assertions use: the archive, a machine for it, and the machine's driver.

use std::path::PathBuf;

use super::disguise::{Disguised, Signs};
use super::machine::Machine;
use crate::TaskError;
use crate::gpu_test::{Build, Packed, Purpose, Ready};

/// The objects that the assertions use.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) ready: Ready,
    /// The machine that contains the archives and drivers.
    pub(super) machine: Machine,
    /// The bytes of the unmodified simulated driver.
    pub(super) plain: Vec<u8>,
    /// The path of the simulated driver on the machine, with its signs removed.
    pub(super) disguised: PathBuf,
    pub(super) for_devices: bool,
}

impl Stage {
    pub(super) fn set(for_devices: bool) -> Result<Self, TaskError> {
        let build = if for_devices { Build::ForDevices } else { Build::AsTests };
        let ready = Ready::build(build)?;
        let simulator =
            ready.simulator.as_ref().ok_or("cargo reports no library for the simulator")?;
        let plain = std::fs::read(simulator)?;
        let machine = Machine::with_script(&ready.place.root)?;
        let driver = Disguised::of(&plain, Signs::NONE)?;
        let disguised = machine.put("disguised-driver.so", driver.bytes())?;
        Ok(Self { ready, machine, plain, disguised, for_devices })
    }

    /// Returns the probe and the backend tests, which are enough for runs that must fail.
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
