//! The facts of this run that the steps need: the workspace, the toolchains, and the extent.

use std::process::{Command, Stdio};

use tasks::steps;
use tasks::toolchains::Toolchains;
use tasks::workspace::{self, Workspace};

use crate::TaskError;

/// Random programs per property test, natively: the count that `POOL_TEST_CASES` carries.
const CASES: u32 = 2_000;
/// The same with `--full`.
const CASES_IN_FULL: u32 = 20_000;
/// The same under a sanitizer, which makes a program several times slower.
const CASES_UNDER_SANITIZERS: u32 = 500;
/// The same under Miri, which needs a second for a program. Each borrow model has programs of its own.
const CASES_UNDER_MIRI: u32 = 6;
/// The same with `--full`.
const CASES_UNDER_MIRI_IN_FULL: u32 = 50;
/// Random shapes per kernel and type of elements on the simulated driver, which interprets it:
/// `POOL_KERNEL_CASES`.
const KERNEL_CASES: u32 = 100;
/// The same with `--full`.
const KERNEL_CASES_IN_FULL: u32 = 2_000;
/// Random captures on the simulated driver, on each of 1, 2, 4 and 8 streams: `POOL_GRAPH_CAPTURES`.
const CAPTURES: u32 = 5;
/// The same with `--full`.
const CAPTURES_IN_FULL: u32 = 250;
/// Replays of a sentence encoder's short graphs on the simulated driver: `POOL_ENCODER_REPLAYS`.
const ENCODER_REPLAYS: u32 = 50;
/// The same with `--full`.
const ENCODER_REPLAYS_IN_FULL: u32 = 1_000;
/// The same of its long graphs, `POOL_ENCODER_LONG_REPLAYS`. An interpreter needs tens of times longer for one than for
/// a short graph.
const ENCODER_LONG_REPLAYS: u32 = 8;
/// The same with `--full`.
const ENCODER_LONG_REPLAYS_IN_FULL: u32 = 1_000;
/// The stride of the test of the encoder's exponential function on the host, over 1.1 thousand
/// million numbers: `POOL_ENCODER_STRIDE`.
const ENCODER_STRIDE: u32 = 1_009;
/// With `--full` every number is tried, which takes a minute of processor time.
const ENCODER_STRIDE_IN_FULL: u32 = 1;

/// Nodes of the graphs that the verifier is timed on with `--full`: `POOL_VERIFIED_NODES`.
const VERIFIED_NODES_IN_FULL: u32 = 200_000;

/// Seconds for a test on the simulated driver.
const PATIENCE: u32 = 300;
/// The same with `--full`.
const PATIENCE_IN_FULL: u32 = 3_600;

/// The number of orders in which a test on the simulated driver runs.
const ORDERS: u32 = 20;
/// The same with `--full`.
const ORDERS_IN_FULL: u32 = 200;

/// Steps that each test of random attacks on the device half takes: `POOL_ATTACK_STEPS`.
const ATTACK_STEPS: u32 = 10_000;
/// The same with `--full`.
const ATTACK_STEPS_IN_FULL: u32 = 1_000_000;

/// Programs of each kind with every ordering call that fails, with `--full`: `POOL_SWEEP_PROGRAMS`. Without the variable
/// a few programs have a sample of those failures.
const SWEEP_PROGRAMS_IN_FULL: u32 = 40;

/// Seeds with which the tests of the device half run with `--full`, each in [`ORDERS`] orders.
const SEEDS_IN_FULL: u32 = 20;

/// Facts that hold for a whole run.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The workspace: its directories, and its crates.
    pub(crate) workspace: Workspace,
    /// The oldest supported Rust release, from the manifest of this task.
    pub(crate) oldest_rust: &'static str,
    /// The toolchains that rustup has.
    pub(crate) toolchains: Toolchains,
    /// The run is with `--full`.
    pub(crate) full: bool,
    /// The revision of `--changed-since`.
    pub(crate) changed_since: Option<String>,
}

impl steps::Setting for Setting {
    fn workspace(&self) -> &Workspace {
        &self.workspace
    }
}

impl Setting {
    /// Detects the facts of this run.
    ///
    /// # Errors
    ///
    /// If cargo cannot describe the workspace.
    pub(crate) fn detect(full: bool, changed_since: Option<String>) -> Result<Self, TaskError> {
        Ok(Self {
            workspace: workspace::describe()?,
            oldest_rust: env!("CARGO_PKG_RUST_VERSION"),
            toolchains: Toolchains::detect(),
            full,
            changed_since,
        })
    }

    /// Returns the random programs per property test.
    pub(crate) fn cases(&self) -> String {
        if self.full { CASES_IN_FULL } else { CASES }.to_string()
    }

    /// Returns the same under a sanitizer.
    pub(crate) fn cases_under_sanitizers(&self) -> String {
        if self.full { CASES_IN_FULL } else { CASES_UNDER_SANITIZERS }.to_string()
    }

    /// Returns the seconds after which a test on the simulated driver is stopped.
    pub(crate) fn patience(&self) -> String {
        if self.full { PATIENCE_IN_FULL } else { PATIENCE }.to_string()
    }

    /// Returns the programs of each kind in the whole sweep over ordering calls that fail.
    pub(crate) fn sweep_programs_in_full() -> String {
        SWEEP_PROGRAMS_IN_FULL.to_string()
    }

    /// Returns the number of orders in which a test on the simulated driver runs.
    pub(crate) fn orders(&self) -> String {
        if self.full { ORDERS_IN_FULL } else { ORDERS }.to_string()
    }

    /// Returns the random shapes per kernel on the simulated driver.
    pub(crate) fn kernel_cases(&self) -> String {
        if self.full { KERNEL_CASES_IN_FULL } else { KERNEL_CASES }.to_string()
    }

    /// Returns the replays of a sentence encoder's short graphs on the simulated driver.
    pub(crate) fn encoder_replays(&self) -> String {
        if self.full { ENCODER_REPLAYS_IN_FULL } else { ENCODER_REPLAYS }.to_string()
    }

    /// Returns the replays of its long graphs there.
    pub(crate) fn encoder_long_replays(&self) -> String {
        if self.full { ENCODER_LONG_REPLAYS_IN_FULL } else { ENCODER_LONG_REPLAYS }.to_string()
    }

    /// Returns the stride of the numbers with which its exponential function is tried.
    pub(crate) fn encoder_stride(&self) -> String {
        if self.full { ENCODER_STRIDE_IN_FULL } else { ENCODER_STRIDE }.to_string()
    }

    /// Returns the random captures on each number of streams on the simulated driver.
    pub(crate) fn captures(&self) -> String {
        if self.full { CAPTURES_IN_FULL } else { CAPTURES }.to_string()
    }

    /// Returns the steps of each test of random attacks on the device half.
    pub(crate) fn attack_steps(&self) -> String {
        if self.full { ATTACK_STEPS_IN_FULL } else { ATTACK_STEPS }.to_string()
    }

    /// Returns the number of seeds for the tests of the device half, if it is more than one.
    pub(crate) fn seeds_in_full() -> String {
        SEEDS_IN_FULL.to_string()
    }

    /// Returns the number of orders in which a test runs with each of those seeds.
    pub(crate) fn orders_of_a_seed() -> String {
        ORDERS.to_string()
    }

    /// Returns the nodes of the graphs that the verifier is timed on.
    pub(crate) fn verified_nodes_in_full() -> String {
        VERIFIED_NODES_IN_FULL.to_string()
    }

    /// Returns the random programs per property test under Miri.
    pub(crate) fn cases_under_miri(&self) -> String {
        if self.full { CASES_UNDER_MIRI_IN_FULL } else { CASES_UNDER_MIRI }.to_string()
    }

    /// Returns the tag of the last release before this commit; else the reason why there is none.
    pub(crate) fn last_release(&self) -> Result<String, String> {
        let mut describe = Command::new("git");
        describe.args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]);
        let answer = describe.current_dir(&self.workspace.root).stderr(Stdio::null()).output();
        let answer = answer.map_err(|error| format!("git: {error}"))?;
        let tag = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if tag.is_empty() { Err("no release has a tag yet".to_owned()) } else { Ok(tag) }
    }

    /// Returns a build directory of its own, so that runs with other flags do not rebuild each
    /// other.
    pub(crate) fn own_target_directory(&self, name: &str) -> String {
        self.workspace.target_directory.join(name).display().to_string()
    }
}
