//! The simulator as a test sees it.

use crate::library::{Calls, LoadError, Topic};
use crate::report::Report;

/// The variable in which `cargo xtask sim-test` passes a seed.
const SEED_VARIABLE: &str = "CUDA_SIM_SEED";
/// The variable with which it asks for the background thread.
const BACKGROUND_VARIABLE: &str = "CUDA_SIM_BACKGROUND";
/// The variable with a driver's version, which the simulator heeds where nothing controls it, too.
const DRIVER_VERSION_VARIABLE: &str = "CUDA_SIM_DRIVER_VERSION";
/// The variable with which the suites are run under the other answers.
const OTHER_ANSWERS_VARIABLE: &str = "CUDA_SIM_OTHER_ANSWERS";
/// The variable with the instructions that a warp may take in one block.
const INSTRUCTIONS_VARIABLE: &str = "CUDA_SIM_INSTRUCTIONS";
/// The variable that has every report printed.
const PRINT_REPORTS_VARIABLE: &str = "CUDA_SIM_PRINT_REPORTS";
/// Those of a warp where nothing else is said.
const INSTRUCTIONS: u64 = 1 << 23;
/// CUDA 13.0.
const DRIVER_VERSION: u32 = 13_000;

/// What a simulated machine is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Draws the order in which what is asynchronous runs. By default the number in the variable
    /// `CUDA_SIM_SEED`, or 0.
    pub seed: u64,
    /// How many devices there are, 1 to 4.
    pub devices: u32,
    /// Whether a thread of its own runs what can run, as a device does. Then no seed gives an order
    /// again. By default whether the variable `CUDA_SIM_BACKGROUND` is set.
    pub background: bool,
    /// Bytes of memory that each has, in steps of 2 MiB; 1 GiB by default.
    pub bytes: u64,
    /// The CUDA version that the driver is for, as 1000 × major + 10 × minor, 12000 at least: what came
    /// later it refuses. By default the number in the variable `CUDA_SIM_DRIVER_VERSION`, or 13000.
    pub driver_version: u32,
    /// Whether devices can reach each other's memory, where they are let; true by default.
    pub peers: bool,
    /// Whether what NVIDIA's documentation leaves open is answered the other way than is assumed: the simulator's
    /// page has the list. By default whether the variable `CUDA_SIM_OTHER_ANSWERS` is set.
    pub other_answers: bool,
    /// Instructions that a warp of a kernel may take in one block; one with more is taken for one without an end. By
    /// default the number in the variable `CUDA_SIM_INSTRUCTIONS`, or 8,388,608.
    pub instructions: u64,
    /// Whether each report is printed on the standard error when it is made. By default whether the variable
    /// `CUDA_SIM_PRINT_REPORTS` is set.
    pub print_reports: bool,
}

/// The simulated driver of this process.
#[derive(Clone, Copy, Debug)]
pub struct Simulator(Calls);

/// A call of the driver and the code that it answered, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverCall {
    /// The call's name.
    pub name: String,
    /// What it answered; 0 is success.
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
    /// As the simulator takes them.
    fn options(self) -> u32 {
        u32::from(!self.peers)
            | u32::from(self.other_answers) << 1
            | u32::from(self.print_reports) << 2
    }
}

impl Simulator {
    /// Loads the simulator into this process; before the first call of cudarc.
    ///
    /// # Errors
    ///
    /// When the library is not there, when another driver was loaded before, and when the simulator
    /// was started in this process before.
    pub fn start(settings: Settings) -> Result<Self, LoadError> {
        let simulator = Self(Calls::load()?);
        let started = simulator.reset(settings);
        debug_assert!(started, "a host function runs before the first call");
        Ok(simulator)
    }

    /// The simulator where it is this process's driver already, for tests that run on whatever driver the
    /// loader finds; nothing is changed in it. `None` on any other driver, and where there is none.
    #[must_use]
    pub fn attach() -> Option<Self> {
        Calls::attach().map(Self)
    }

    /// Starts anew: no handle and no address of before is good any more, and nothing is reported,
    /// logged or to fail. False, and nothing happens, while a host function runs, and where there is no
    /// thread to be had for the background.
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

    /// Lets the n-th call of this name from now fail with a code, and not do what it should.
    pub fn fail_call(self, name: &str, nth: u64, code: u32) {
        self.0.fail(name, nth, code);
    }

    /// Lets the n-th call of any name from now fail with a code.
    pub fn fail_any_call(self, nth: u64, code: u32) {
        self.0.fail("", nth, code);
    }

    /// Does something right before the n-th call of this name from now, on the thread that makes the call:
    /// what comes in between two calls of a program, at the same place every time. It may call the driver,
    /// or have another thread do so, and must not panic.
    pub fn before_call(self, name: &str, nth: u64, work: impl FnOnce() + Send + 'static) {
        self.0.before(name, nth, Box::new(work));
    }

    /// Takes back what was to fail and has not.
    pub fn forget_failures(self) {
        self.0.forget(4);
    }

    /// Forgets what was reported so far, for tests of the reports themselves.
    pub fn forget_reports(self) {
        self.0.forget(1);
    }

    /// Forgets calls and trace.
    pub fn forget_calls(self) {
        self.0.forget(2);
    }

    /// How often this call was made.
    #[must_use]
    pub fn calls(self, name: &str) -> u64 {
        self.0.calls(name)
    }

    /// How many calls were made.
    #[must_use]
    pub fn all_calls(self) -> u64 {
        self.0.calls("")
    }

    /// Whether a call of this name is more than a refusal.
    #[must_use]
    pub fn models(self, name: &str) -> bool {
        self.0.models(name)
    }

    /// The calls and what each answered, in order; the first 262,144 of them.
    #[must_use]
    pub fn log(self) -> Vec<DriverCall> {
        let call = |line: &String| {
            let (name, code) = line.rsplit_once(' ')?;
            Some(DriverCall { name: name.to_owned(), code: code.parse().ok()? })
        };
        self.0.read(Topic::Calls).iter().filter_map(call).collect()
    }

    /// What ran on the device, in the order in which it ran; the first 262,144 lines.
    #[must_use]
    pub fn trace(self) -> Vec<String> {
        self.0.read(Topic::Trace)
    }

    /// The mistakes found so far, each once.
    #[must_use]
    pub fn reports(self) -> Vec<Report> {
        self.0.read(Topic::Reports).iter().map(|line| Report::parse(line)).collect()
    }

    /// What was made and not given back.
    #[must_use]
    pub fn leaks(self) -> Vec<String> {
        self.0.read(Topic::Leaks)
    }

    /// Checks that nothing was reported.
    ///
    /// # Panics
    ///
    /// When something was, with all of it.
    pub fn assert_clean(self) {
        let reports: Vec<String> = self.reports().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "the simulated driver reports:\n{}", reports.join("\n"));
    }

    /// Checks that everything was given back.
    ///
    /// # Panics
    ///
    /// When something was not, with all of it.
    pub fn assert_no_leaks(self) {
        let leaks = self.leaks();
        assert!(leaks.is_empty(), "not given back:\n{}", leaks.join("\n"));
    }
}
