//! Opens the device for a question, or panics: a question never passes without being tested.

use crate::answers::Answers;
use crate::driver::{Device, NoDevice, Outcome, Refusal};

/// The variable that allows a simulated driver. `sim-test` sets it, `gpu-test` unsets it.
const SIMULATOR_VARIABLE: &str = "DRIVER_CONFORMANCE_SIMULATOR";

/// Opens the device, runs the question and checks its answers.
///
/// A call that the driver lacks ends the question as skipped.
///
/// # Panics
///
/// Panics without a device, if a preparing call is refused, and if an answer differs.
#[expect(clippy::panic, reason = "this is how a test fails")]
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

/// Opens the device: hardware, or the simulated driver under `cargo xtask sim-test`.
///
/// # Errors
///
/// Fails without a driver or a device, with a stub alone, or with a simulator that was not allowed.
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
