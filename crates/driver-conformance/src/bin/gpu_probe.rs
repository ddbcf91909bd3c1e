//! Says which device, driver and driver library a machine has, one `key: value` a line.
//!
//! The exit code is 0 where there is a device to test on, and 3 where there is none: no driver, no
//! device, a stub of the toolkit, or the simulated driver. The reason is then on the standard error.

use std::process::ExitCode;

use driver_conformance::driver::{Device, Facts, NoDevice};

fn main() -> ExitCode {
    match probe() {
        Ok(facts) => {
            print(&facts);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("no GPU: {why}");
            ExitCode::from(3)
        }
    }
}

fn probe() -> Result<Facts, NoDevice> {
    let device = Device::open()?;
    device.facts().map_err(|refusal| NoDevice::Refused("asking the device", refusal))
}

fn print(facts: &Facts) {
    let (major, minor) = facts.capability;
    let library =
        facts.library.as_ref().map_or_else(|| "unknown".into(), |path| path.display().to_string());
    println!("device: {}", facts.name);
    println!("uuid: {}", facts.uuid);
    println!("capability: {major}.{minor}");
    println!("memory: {}", facts.bytes);
    println!("driver: {}.{}", facts.driver / 1000, facts.driver % 1000 / 10);
    println!("libcuda: {library}");
}
