//! Opens the device for a question, or panics, so that no question passes without being tested.

use crate::answers::Answers;
use crate::driver::{Device, NoDevice, Outcome, Refusal};

/// The variable that permits a simulated driver. `sim-test` sets it, and `gpu-test` unsets it.
const SIMULATOR_VARIABLE: &str = "DRIVER_CONFORMANCE_SIMULATOR";

/// Opens the device, runs the question and checks its answers.
///
/// If the driver lacks a call, the question ends as skipped.
///
/// # Panics
///
/// Panics if there is no device, if a call that prepares the question fails, or if an answer
/// differs.
#[expect(clippy::panic, reason = "a failing test panics")]
pub fn ask(topic: &str, question: impl FnOnce(&Device, &mut Answers) -> Outcome<()>) {
    let device = open().unwrap_or_else(|why| panic!("GPU REQUIRED: {why}"));
    let mut answers = Answers::new(topic);
    match question(&device, &mut answers) {
        Ok(()) => {}
        Err(missing @ Refusal::Missing(_)) => answers.skip(&missing.to_string()),
        Err(refusal) => {
            panic!("{topic}: a call that prepares the question returns {refusal}")
        }
    }
    answers.close();
}

/// Opens the device, which is hardware, or the simulated driver under `cargo xtask sim-test`.
///
/// # Errors
///
/// Fails if there is no driver or no device, if only a stub is installed, or if the driver is a
/// simulator that was not permitted.
pub fn open() -> Result<Device, NoDevice> {
    if std::env::var_os(SIMULATOR_VARIABLE).is_some() {
        Device::open_hardware_or_simulator()
    } else {
        Device::open()
    }
}

#[cfg(test)]
mod tests {
    use super::{ask, open};

    #[test]
    fn without_a_device_nothing_passes() {
        if open().is_ok() {
            println!("SKIPPED: there is a device");
            return;
        }
        let asked = std::panic::catch_unwind(|| ask("nothing", |_, _| Ok(())));
        let complaint = asked.unwrap_err();
        let complaint = complaint.downcast_ref::<String>().unwrap();
        assert!(complaint.starts_with("GPU REQUIRED: "), "{complaint}");
    }
}
