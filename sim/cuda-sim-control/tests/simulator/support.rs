//! Helpers that several tests share: a simulator, a device, and memory.

use cuda_sim_control::{Mistake, Settings, Simulator};
use driver_conformance::driver::{self, Device, Event, Outcome, Span, Stream};

/// Starts the simulator for this process.
pub(crate) fn start() -> Simulator {
    Simulator::start(Settings::default()).unwrap()
}

/// Returns the settings for a seed. They differ between runs of the test suite.
pub(crate) fn settings(seed: u64) -> Settings {
    let run = Settings::default();
    Settings { seed: run.seed.wrapping_mul(1_000_003).wrapping_add(seed), ..run }
}

/// Restarts the simulator with a seed and without background work, so only the seed determines the
/// order.
pub(crate) fn with_order_of(simulator: Simulator, seed: u64) {
    assert!(simulator.reset(Settings { background: false, ..settings(seed) }));
    Device::open_hardware_or_simulator().unwrap();
}

/// Restarts the simulator with a seed, and opens the device.
pub(crate) fn with_seed(simulator: Simulator, seed: u64) -> Device {
    assert!(simulator.reset(settings(seed)));
    Device::open_hardware_or_simulator().unwrap()
}

/// Runs a program with each seed, and returns the number of seeds for which this mistake was
/// reported. Any other report fails the test.
pub(crate) fn seeds_with(
    simulator: Simulator,
    seeds: u64,
    mistake: Mistake,
    program: impl Fn(&Device) -> Outcome<()>,
) -> u64 {
    let reported = |seed: &u64| {
        let device = with_seed(simulator, *seed);
        program(&device).unwrap();
        let reports = simulator.reports();
        for report in &reports {
            assert_eq!(report.mistake(), mistake, "{report}");
        }
        !reports.is_empty()
    };
    (0..seeds).filter(reported).count() as u64
}

/// Returns memory in which every byte has this value. No work is pending on it.
pub(crate) fn filled(bytes: usize, value: u8) -> Outcome<Span> {
    let span = driver::allocate(bytes)?;
    driver::fill(span, value)?;
    Stream::legacy().synchronize()?;
    Ok(span)
}

/// Orders all later work of `later` after all current work of `earlier`.
pub(crate) fn join(later: &Stream, earlier: &Stream) -> Outcome<()> {
    later.wait(&Event::recorded(earlier)?)
}
