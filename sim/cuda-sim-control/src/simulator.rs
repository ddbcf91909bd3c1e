//! The interface through which tests use the simulator.

use crate::library::{Calls, LoadError, Topic};
use crate::report::Report;

/// The variable in which `cargo xtask sim-test` passes a seed.
const SEED_VARIABLE: &str = "CUDA_SIM_SEED";
/// The variable with which `cargo xtask sim-test` enables the background thread.
const BACKGROUND_VARIABLE: &str = "CUDA_SIM_BACKGROUND";
/// The variable for the driver version. A simulator that no test controls also reads it.
const DRIVER_VERSION_VARIABLE: &str = "CUDA_SIM_DRIVER_VERSION";
/// The variable that makes test suites run with the opposite choices.
const OTHER_ANSWERS_VARIABLE: &str = "CUDA_SIM_OTHER_ANSWERS";
/// The variable for the instruction limit of a warp in one block.
const INSTRUCTIONS_VARIABLE: &str = "CUDA_SIM_INSTRUCTIONS";
/// The variable that enables printing every report.
const PRINT_REPORTS_VARIABLE: &str = "CUDA_SIM_PRINT_REPORTS";
/// The default instruction limit of a warp.
const INSTRUCTIONS: u64 = 1 << 23;
/// CUDA 13.0.
const DRIVER_VERSION: u32 = 13_000;

/// The settings of a simulated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The seed that determines the order of asynchronous work. The default is the number in the
    /// `CUDA_SIM_SEED` variable, or 0.
    pub seed: u64,
    /// The number of devices, from 1 to 4.
    pub devices: u32,
    /// `true` if a background thread runs all work that is ready, like a device. No seed reproduces
    /// that order. The default is `true` if the `CUDA_SIM_BACKGROUND` variable is set.
    pub background: bool,
    /// The memory of each device in bytes, a multiple of 2 MiB. The default is 1 GiB.
    pub bytes: u64,
    /// The CUDA version of the driver, as 1000 × major + 10 × minor, at least 12000. The driver
    /// refuses calls that newer versions introduced. The default is the number in the
    /// `CUDA_SIM_DRIVER_VERSION` variable, or 13000.
    pub driver_version: u32,
    /// `true` if devices can enable access to each other's memory. The default is `true`.
    pub peers: bool,
    /// `true` to choose the other alternative wherever NVIDIA's documentation leaves the behaviour
    /// open; the simulator's page lists these choices. The default is `true` if the
    /// `CUDA_SIM_OTHER_ANSWERS` variable is set.
    pub other_answers: bool,
    /// The number of instructions that a warp may execute in one block. A warp that exceeds it is
    /// treated as an endless loop. The default is the number in the `CUDA_SIM_INSTRUCTIONS`
    /// variable, or 8,388,608.
    pub instructions: u64,
    /// `true` if each report is printed to standard error immediately. The default is `true` if the
    /// `CUDA_SIM_PRINT_REPORTS` variable is set.
    pub print_reports: bool,
}

/// The simulated driver of this process.
#[derive(Clone, Copy, Debug)]
pub struct Simulator(Calls);

/// A logged call of the driver and its return code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverCall {
    /// The name of the call.
    pub name: String,
    /// The return code. 0 means success.
    pub code: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let given = |variable| std::env::var(variable).ok();
        let seed = given(SEED_VARIABLE).and_then(|seed| seed.parse().ok());
        let version = given(DRIVER_VERSION_VARIABLE).and_then(|version| version.parse().ok());
        let instructions =
            given(INSTRUCTIONS_VARIABLE).and_then(|instructions| instructions.parse().ok());
        Self {
            seed: seed.unwrap_or(0),
            background: std::env::var_os(BACKGROUND_VARIABLE).is_some(),
            devices: 1,
            bytes: 1 << 30,
            driver_version: version.unwrap_or(DRIVER_VERSION),
            peers: true,
            other_answers: std::env::var_os(OTHER_ANSWERS_VARIABLE).is_some(),
            instructions: instructions.unwrap_or(INSTRUCTIONS),
            print_reports: std::env::var_os(PRINT_REPORTS_VARIABLE).is_some(),
        }
    }
}

impl Settings {
    /// Encodes the settings as option bits for the simulator.
    fn options(self) -> u32 {
        u32::from(!self.peers)
            | u32::from(self.other_answers) << 1
            | u32::from(self.print_reports) << 2
    }
}

impl Simulator {
    /// Loads the simulator into this process. Call this before the first call of cudarc.
    ///
    /// # Errors
    ///
    /// Fails if the library is missing, if another driver has been loaded, or if the simulator was
    /// already started in this process.
    pub fn start(settings: Settings) -> Result<Self, LoadError> {
        let simulator = Self(Calls::load()?);
        let started = simulator.reset(settings);
        debug_assert!(started, "a host function runs before the first call");
        Ok(simulator)
    }

    /// Returns the simulator if it is the driver of this process, without changing its state. Tests
    /// that run on any driver use this function. Returns `None` if the process uses another driver
    /// or no driver.
    #[must_use]
    pub fn attach() -> Option<Self> {
        Calls::attach().map(Self)
    }

    /// Restarts the simulator: all earlier handles and addresses become invalid, and reports, logs
    /// and planned failures are cleared. Returns `false` and changes nothing while a host function
    /// runs, or if the background thread cannot be started.
    #[must_use]
    pub fn reset(self, settings: Settings) -> bool {
        self.0.background(settings.background)
            && self.0.reset(
                settings.seed,
                settings.devices,
                settings.bytes,
                settings.driver_version,
                settings.options(),
                settings.instructions,
            )
    }

    /// Makes the n-th call of this name from now fail with a code. The failing call has no effect.
    pub fn fail_call(self, name: &str, nth: u64, code: u32) {
        self.0.fail(name, nth, code);
    }

    /// Makes the n-th call from now fail with a code, whatever its name.
    pub fn fail_any_call(self, nth: u64, code: u32) {
        self.0.fail("", nth, code);
    }

    /// Runs a closure right before the n-th call of this name from now, on the thread that makes
    /// the call. A test uses it to act between two calls of a program reproducibly. The closure may
    /// call the driver or let another thread call it, and must not panic.
    pub fn before_call(self, name: &str, nth: u64, work: impl FnOnce() + Send + 'static) {
        self.0.before(name, nth, Box::new(work));
    }

    /// Removes planned failures that have not happened yet.
    pub fn forget_failures(self) {
        self.0.forget(4);
    }

    /// Discards the reports collected so far. Tests of reports use this.
    pub fn forget_reports(self) {
        self.0.forget(1);
    }

    /// Clears the log of calls and the trace.
    pub fn forget_calls(self) {
        self.0.forget(2);
    }

    /// Returns how many calls of this name were made.
    #[must_use]
    pub fn calls(self, name: &str) -> u64 {
        self.0.calls(name)
    }

    /// Returns how many calls were made in total.
    #[must_use]
    pub fn all_calls(self) -> u64 {
        self.0.calls("")
    }

    /// Returns `true` if the simulator models a call of this name.
    #[must_use]
    pub fn models(self, name: &str) -> bool {
        self.0.models(name)
    }

    /// Returns the calls with their return codes in order, limited to the first 262,144.
    #[must_use]
    pub fn log(self) -> Vec<DriverCall> {
        let call = |line: &String| {
            let (name, code) = line.rsplit_once(' ')?;
            Some(DriverCall { name: name.to_owned(), code: code.parse().ok()? })
        };
        self.0.read(Topic::Calls).iter().filter_map(call).collect()
    }

    /// Returns the operations that the device has executed in order, limited to the first 262,144.
    #[must_use]
    pub fn trace(self) -> Vec<String> {
        self.0.read(Topic::Trace)
    }

    /// Returns the distinct mistakes found so far.
    #[must_use]
    pub fn reports(self) -> Vec<Report> {
        self.0.read(Topic::Reports).iter().map(|line| Report::parse(line)).collect()
    }

    /// Returns the objects that were created and have not been freed.
    #[must_use]
    pub fn leaks(self) -> Vec<String> {
        self.0.read(Topic::Leaks)
    }

    /// Checks that nothing has been reported.
    ///
    /// # Panics
    ///
    /// Panics with all reports if anything has been reported.
    pub fn assert_clean(self) {
        let reports: Vec<String> = self.reports().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "the simulated driver reports:\n{}", reports.join("\n"));
    }

    /// Checks that all objects have been freed.
    ///
    /// # Panics
    ///
    /// Panics with all leaks if any object has not been freed.
    pub fn assert_no_leaks(self) {
        let leaks = self.leaks();
        assert!(leaks.is_empty(), "not given back:\n{}", leaks.join("\n"));
    }
}
