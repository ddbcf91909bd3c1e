//! Prints the driver, the driver library and the device of a machine, with one `key: value` on each
//! line.
//!
//! Properties that do not need an open device are printed first. Even a driver that is too old for
//! the other properties therefore prints its version.
//!
//! The exit code is 0 if there is a device to test on. It is 3 if there is no driver or no device,
//! or if the driver is a stub from the toolkit or the simulated driver. In this case the reason is
//! printed to standard error.

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
