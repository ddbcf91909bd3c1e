//! Prints the driver, driver library and device of a machine, one `key: value` a line.
//!
//! Properties that need no open device come first, so that a driver too old for the rest has
//! printed its version.
//!
//! The exit code is 0 if there is a device to test on. It is 3 without a driver or a device, and
//! for a stub of the toolkit or the simulated driver. The reason is then on the standard error.

use std::process::ExitCode;

use driver_conformance::driver::{Device, Facts, NoDevice, driver_version, loaded_file};

fn main() -> ExitCode {
    print_driver();
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

fn print_driver() {
    if let Some(file) = loaded_file() {
        println!("libcuda: {}", file.display());
    }
    if let Ok(version) = driver_version() {
        println!("driver: {}.{}", version / 1000, version % 1000 / 10);
    }
}

fn probe() -> Result<Facts, NoDevice> {
    let device = Device::open()?;
    device.facts().map_err(|refusal| NoDevice::Refused("asking the device", refusal))
}

fn print(facts: &Facts) {
    let (major, minor) = facts.capability;
    println!("device: {}", facts.name);
    println!("capability: {major}.{minor}");
    println!("uuid: {}", facts.uuid);
    println!("memory: {}", facts.bytes);
}
