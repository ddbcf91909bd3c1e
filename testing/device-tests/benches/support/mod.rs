//! Runs criterion for a bench that needs a device.

use std::process::ExitCode;
use std::time::Duration;

use criterion::Criterion;
use driver_conformance::driver::Device;

/// Runs the measurements if there is a device. The error of `measure` is a description.
pub(crate) fn run(measure: impl FnOnce(&mut Criterion) -> Result<(), String>) -> ExitCode {
    if let Err(why) = Device::open() {
        return without_device(&why.to_string());
    }
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(700))
        .configure_from_args();
    if let Err(error) = measure(&mut criterion) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    criterion.final_summary();
    ExitCode::SUCCESS
}

/// Does nothing when run as a test. When run as a benchmark, prints that there is no device.
fn without_device(why: &str) -> ExitCode {
    if std::env::args().any(|argument| argument == "--bench") {
        eprintln!("no GPU: {why}");
        return ExitCode::from(3);
    }
    println!("SKIPPED: {why}");
    ExitCode::SUCCESS
}
