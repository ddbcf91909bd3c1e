//! Opening the device for a question, or saying that there is none: a question never passes unasked.

use crate::answers::Answers;
use crate::driver::{Device, NoDevice, Outcome, Refusal};

/// The variable that lets a simulated driver answer; `sim-test` sets it, `gpu-test` unsets it.
const SIMULATOR_VARIABLE: &str = "DRIVER_CONFORMANCE_SIMULATOR";

/// Asks: opens the device, runs the question and closes its answers.
///
/// A call that the driver lacks ends the question as skipped.
///
/// # Panics
///
/// When there is no device, when a call that only prepares the question is refused, and when an
/// answer differs.
#[expect(clippy::panic, reason = "this is how a test fails")]
pub fn ask(topic: &str, question: impl FnOnce(&Device, &mut Answers) -> Outcome<()>) {
    let device = open().unwrap_or_else(|why| panic!("GPU REQUIRED: {why}"));
    let mut answers = Answers::new(topic);
    match question(&device, &mut answers) {
        Ok(()) => {}
        Err(missing @ Refusal::Missing(_)) => answers.skip(&missing.to_string()),
        Err(refusal) => {
            panic!("{topic}: a call that prepares the question answers {refusal}")
        }
    }
    answers.close();
}

/// Opens the device: hardware, or the simulated driver where `cargo xtask sim-test` has it answer.
///
/// # Errors
///
/// Where there is no driver or no device, or only a stub, or a simulator that was not asked for.
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
