//! The simulator's interface for tests.

use crate::library::{Calls, LoadError, Topic};
use crate::report::Report;

/// The variable in which `cargo xtask sim-test` passes a seed.
const SEED_VARIABLE: &str = "CUDA_SIM_SEED";
/// The variable by which it enables the background thread.
const BACKGROUND_VARIABLE: &str = "CUDA_SIM_BACKGROUND";
/// The variable for a driver's version, which an uncontrolled simulator reads, too.
const DRIVER_VERSION_VARIABLE: &str = "CUDA_SIM_DRIVER_VERSION";
/// The variable by which suites run with the opposite choices.
const OTHER_ANSWERS_VARIABLE: &str = "CUDA_SIM_OTHER_ANSWERS";
/// The variable for the limit of instructions of a warp in one block.
const INSTRUCTIONS_VARIABLE: &str = "CUDA_SIM_INSTRUCTIONS";
/// The variable that enables printing of every report.
const PRINT_REPORTS_VARIABLE: &str = "CUDA_SIM_PRINT_REPORTS";
/// The default limit of a warp's instructions.
const INSTRUCTIONS: u64 = 1 << 23;
/// CUDA 13.0.
const DRIVER_VERSION: u32 = 13_000;

/// The settings of a simulated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The seed of the order of asynchronous work. By default the number in the variable
    /// `CUDA_SIM_SEED`, or 0.
    pub seed: u64,
    /// The number of devices, 1 to 4.
    pub devices: u32,
    /// `true` if a thread runs all work that can run, as a device does. No seed reproduces that
    /// order. By default `true` if the variable `CUDA_SIM_BACKGROUND` is set.
    pub background: bool,
    /// The memory of each device in bytes, in steps of 2 MiB; 1 GiB by default.
    pub bytes: u64,
    /// The CUDA version of the driver, as 1000 × major + 10 × minor, at least 12000. It refuses
    /// later calls. By default the number in the variable `CUDA_SIM_DRIVER_VERSION`, or 13000.
    pub driver_version: u32,
    /// `true` if devices can enable access to each other's memory; `true` by default.
    pub peers: bool,
    /// `true` to take the opposite choice wherever NVIDIA's documentation leaves one open; the
    /// simulator's page lists them. By default `true` if the variable `CUDA_SIM_OTHER_ANSWERS` is
    /// set.
    pub other_answers: bool,
    /// The instructions that a warp may execute in one block. A warp beyond it counts as one
    /// without an end. By default the number in the variable `CUDA_SIM_INSTRUCTIONS`, or 8,388,608.
    pub instructions: u64,
    /// `true` if each report is printed to the standard error at once. By default `true` if the
    /// variable `CUDA_SIM_PRINT_REPORTS` is set.
    pub print_reports: bool,
}

/// The simulated driver of this process.
#[derive(Clone, Copy, Debug)]
pub struct Simulator(Calls);

/// A logged call of the driver with its return code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverCall {
    /// The call's name.
    pub name: String,
    /// The return code; 0 is success.
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
    /// Encodes the settings as the simulator's options.
    fn options(self) -> u32 {
        u32::from(!self.peers)
            | u32::from(self.other_answers) << 1
            | u32::from(self.print_reports) << 2
    }
}

impl Simulator {
    /// Loads the simulator into this process. Call it before the first call of cudarc.
    ///
    /// # Errors
    ///
    /// Fails if the library is missing, if another driver was loaded before, or if the simulator
    /// was started in this process before.
    pub fn start(settings: Settings) -> Result<Self, LoadError> {
        let simulator = Self(Calls::load()?);
        let started = simulator.reset(settings);
        debug_assert!(started, "a host function runs before the first call");
        Ok(simulator)
    }

    /// Returns the simulator if it is this process's driver, and changes nothing in it. It is for
    /// tests that run on any driver. Returns `None` on any other driver, and without one.
    #[must_use]
    pub fn attach() -> Option<Self> {
        Calls::attach().map(Self)
    }

    /// Starts anew: all earlier handles and addresses become invalid; reports, logs and planned
    /// failures are emptied. Returns `false` and changes nothing while a host function runs, or if
    /// the background thread cannot be started.
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

    /// Lets the n-th call of this name from now fail with a code, without an effect.
    pub fn fail_call(self, name: &str, nth: u64, code: u32) {
        self.0.fail(name, nth, code);
    }

    /// Lets the n-th call of any name from now fail with a code.
    pub fn fail_any_call(self, nth: u64, code: u32) {
        self.0.fail("", nth, code);
    }

    /// Runs a closure right before the n-th call of this name from now, on the calling thread. So a
    /// test acts between two calls of a program, reproducibly. The closure may call the driver, or
    /// have another thread do so, and must not panic.
    pub fn before_call(self, name: &str, nth: u64, work: impl FnOnce() + Send + 'static) {
        self.0.before(name, nth, Box::new(work));
    }

    /// Removes planned failures that have not occurred.
    pub fn forget_failures(self) {
        self.0.forget(4);
    }

    /// Forgets the reports so far, for tests of reports themselves.
    pub fn forget_reports(self) {
        self.0.forget(1);
    }

    /// Forgets calls and trace.
    pub fn forget_calls(self) {
        self.0.forget(2);
    }

    /// Returns the number of calls of this name.
    #[must_use]
    pub fn calls(self, name: &str) -> u64 {
        self.0.calls(name)
    }

    /// Returns the number of all calls.
    #[must_use]
    pub fn all_calls(self) -> u64 {
        self.0.calls("")
    }

    /// Returns `true` if a call of this name is modelled.
    #[must_use]
    pub fn models(self, name: &str) -> bool {
        self.0.models(name)
    }

    /// Returns the calls with their return codes, in order; at most the first 262,144.
    #[must_use]
    pub fn log(self) -> Vec<DriverCall> {
        let call = |line: &String| {
            let (name, code) = line.rsplit_once(' ')?;
            Some(DriverCall { name: name.to_owned(), code: code.parse().ok()? })
        };
        self.0.read(Topic::Calls).iter().filter_map(call).collect()
    }

    /// Returns the operations that the device executed, in order; at most the first 262,144.
    #[must_use]
    pub fn trace(self) -> Vec<String> {
        self.0.read(Topic::Trace)
    }

    /// Returns the mistakes found so far, each once.
    #[must_use]
    pub fn reports(self) -> Vec<Report> {
        self.0.read(Topic::Reports).iter().map(|line| Report::parse(line)).collect()
    }

    /// Returns the objects that were created and not freed.
    #[must_use]
    pub fn leaks(self) -> Vec<String> {
        self.0.read(Topic::Leaks)
    }

    /// Checks that there are no reports.
    ///
    /// # Panics
    ///
    /// Panics with all reports if there are any.
    pub fn assert_clean(self) {
        let reports: Vec<String> = self.reports().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "the simulated driver reports:\n{}", reports.join("\n"));
    }

    /// Checks that all objects were freed.
    ///
    /// # Panics
    ///
    /// Panics with all leaks if there are any.
    pub fn assert_no_leaks(self) {
        let leaks = self.leaks();
        assert!(leaks.is_empty(), "not given back:\n{}", leaks.join("\n"));
    }
}
