//! The settings of a run that the steps need: the workspace, the toolchains, and the effort.

use std::process::{Command, Stdio};

use tasks::steps;
use tasks::toolchains::Toolchains;
use tasks::workspace::{self, Workspace};

use crate::TaskError;

/// The number of random programs for each native property test: `POOL_TEST_CASES`.
const CASES: u32 = 2_000;
/// The number of random programs with `--full`.
const CASES_IN_FULL: u32 = 20_000;
/// The number of random programs under a sanitizer, where a program takes several times as long.
const CASES_UNDER_SANITIZERS: u32 = 500;
/// The number of random programs under Miri, where a program takes a second. Each borrow model uses
/// different programs.
const CASES_UNDER_MIRI: u32 = 3;
/// The number of random programs under Miri with `--full`.
const CASES_UNDER_MIRI_IN_FULL: u32 = 50;
/// The number of random shapes for each kernel and element type on the simulated driver, which
/// interprets kernels: `POOL_KERNEL_CASES`.
const KERNEL_CASES: u32 = 100;
/// The number of random shapes with `--full`.
const KERNEL_CASES_IN_FULL: u32 = 2_000;
/// The number of random captures on the simulated driver, on 1, 2, 4 and 8 streams each:
/// `POOL_GRAPH_CAPTURES`.
const CAPTURES: u32 = 5;
/// The number of random captures with `--full`.
const CAPTURES_IN_FULL: u32 = 250;
/// The number of replays of a sentence encoder's short graphs on the simulated driver:
/// `POOL_ENCODER_REPLAYS`.
const ENCODER_REPLAYS: u32 = 50;
/// The number of replays of short graphs with `--full`.
const ENCODER_REPLAYS_IN_FULL: u32 = 1_000;
/// The number of replays of the encoder's long graphs, which take the interpreter tens of times
/// longer than short graphs: `POOL_ENCODER_LONG_REPLAYS`.
const ENCODER_LONG_REPLAYS: u32 = 8;
/// The number of replays of long graphs with `--full`.
const ENCODER_LONG_REPLAYS_IN_FULL: u32 = 1_000;
/// The stride with which the encoder's exponential function is tested on the host, over 1.1 billion
/// numbers: `POOL_ENCODER_STRIDE`.
const ENCODER_STRIDE: u32 = 1_009;
/// With `--full`, every number is tested, which takes a minute of processor time.
const ENCODER_STRIDE_IN_FULL: u32 = 1;

/// The number of nodes in the graphs with which the verifier is timed with `--full`:
/// `POOL_VERIFIED_NODES`.
const VERIFIED_NODES_IN_FULL: u32 = 200_000;

/// The time limit in seconds for a test on the simulated driver.
const PATIENCE: u32 = 300;
/// The time limit in seconds with `--full`.
const PATIENCE_IN_FULL: u32 = 3_600;

/// The number of orders in which a test on the simulated driver runs.
const ORDERS: u32 = 20;
/// The number of orders with `--full`.
const ORDERS_IN_FULL: u32 = 200;

/// The number of steps in each test that attacks the device code at random: `POOL_ATTACK_STEPS`.
const ATTACK_STEPS: u32 = 10_000;
/// The number of steps with `--full`.
const ATTACK_STEPS_IN_FULL: u32 = 1_000_000;

/// The number of programs of each kind that are run with every ordering call failing, with
/// `--full`: `POOL_SWEEP_PROGRAMS`. Without the variable, a few programs run with a sample of these
/// failures.
const SWEEP_PROGRAMS_IN_FULL: u32 = 40;

/// The number of seeds with which the tests of the device code run with `--full`, each in
/// [`ORDERS`] orders.
const SEEDS_IN_FULL: u32 = 20;

/// The properties of a run.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The workspace, with its directories and crates.
    pub(crate) workspace: Workspace,
    /// The oldest supported Rust release, from the manifest of this task.
    pub(crate) oldest_rust: &'static str,
    /// The toolchains that rustup has installed.
    pub(crate) toolchains: Toolchains,
    /// `true` if the run uses `--full`.
    pub(crate) full: bool,
    /// The revision given with `--changed-since`.
    pub(crate) changed_since: Option<String>,
}

impl steps::Setting for Setting {
    fn workspace(&self) -> &Workspace {
        &self.workspace
    }
}

impl Setting {
    /// Determines the settings of this run.
    ///
    /// # Errors
    ///
    /// Fails if cargo cannot describe the workspace.
    pub(crate) fn detect(full: bool, changed_since: Option<String>) -> Result<Self, TaskError> {
        Ok(Self {
            workspace: workspace::describe()?,
            oldest_rust: env!("CARGO_PKG_RUST_VERSION"),
            toolchains: Toolchains::detect(),
            full,
            changed_since,
        })
    }

    /// Returns the number of random programs for each property test.
    pub(crate) fn cases(&self) -> String {
        if self.full { CASES_IN_FULL } else { CASES }.to_string()
    }

    /// Returns the number of random programs for each property test under a sanitizer.
    pub(crate) fn cases_under_sanitizers(&self) -> String {
        if self.full { CASES_IN_FULL } else { CASES_UNDER_SANITIZERS }.to_string()
    }

    /// Returns the number of seconds after which a test on the simulated driver is stopped.
    pub(crate) fn patience(&self) -> String {
        if self.full { PATIENCE_IN_FULL } else { PATIENCE }.to_string()
    }

    /// Returns the number of programs of each kind in the complete sweep over failing ordering
    /// calls.
    pub(crate) fn sweep_programs_in_full() -> String {
        SWEEP_PROGRAMS_IN_FULL.to_string()
    }

    /// Returns the number of orders in which a test on the simulated driver runs.
    pub(crate) fn orders(&self) -> String {
        if self.full { ORDERS_IN_FULL } else { ORDERS }.to_string()
    }

    /// Returns the number of random shapes for each kernel on the simulated driver.
    pub(crate) fn kernel_cases(&self) -> String {
        if self.full { KERNEL_CASES_IN_FULL } else { KERNEL_CASES }.to_string()
    }

    /// Returns the number of replays of a sentence encoder's short graphs on the simulated driver.
    pub(crate) fn encoder_replays(&self) -> String {
        if self.full { ENCODER_REPLAYS_IN_FULL } else { ENCODER_REPLAYS }.to_string()
    }

    /// Returns the number of replays of the encoder's long graphs on the simulated driver.
    pub(crate) fn encoder_long_replays(&self) -> String {
        if self.full { ENCODER_LONG_REPLAYS_IN_FULL } else { ENCODER_LONG_REPLAYS }.to_string()
    }

    /// Returns the stride of the numbers with which the encoder's exponential function is tested.
    pub(crate) fn encoder_stride(&self) -> String {
        if self.full { ENCODER_STRIDE_IN_FULL } else { ENCODER_STRIDE }.to_string()
    }

    /// Returns the number of random captures for each number of streams on the simulated driver.
    pub(crate) fn captures(&self) -> String {
        if self.full { CAPTURES_IN_FULL } else { CAPTURES }.to_string()
    }

    /// Returns the number of steps in each test that attacks the device code at random.
    pub(crate) fn attack_steps(&self) -> String {
        if self.full { ATTACK_STEPS_IN_FULL } else { ATTACK_STEPS }.to_string()
    }

    /// Returns the number of seeds for the tests of the device code with `--full`.
    pub(crate) fn seeds_in_full() -> String {
        SEEDS_IN_FULL.to_string()
    }

    /// Returns the number of orders in which a test runs with each seed.
    pub(crate) fn orders_of_a_seed() -> String {
        ORDERS.to_string()
    }

    /// Returns the number of nodes in the graphs with which the verifier is timed.
    pub(crate) fn verified_nodes_in_full() -> String {
        VERIFIED_NODES_IN_FULL.to_string()
    }

    /// Returns the number of random programs for each property test under Miri.
    pub(crate) fn cases_under_miri(&self) -> String {
        if self.full { CASES_UNDER_MIRI_IN_FULL } else { CASES_UNDER_MIRI }.to_string()
    }

    /// Returns the tag of the last release before this commit, or the reason why there is none.
    pub(crate) fn last_release(&self) -> Result<String, String> {
        let mut describe = Command::new("git");
        describe.args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]);
        let answer = describe.current_dir(&self.workspace.root).stderr(Stdio::null()).output();
        let answer = answer.map_err(|error| format!("git: {error}"))?;
        let tag = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if tag.is_empty() { Err("there is no release tag yet".to_owned()) } else { Ok(tag) }
    }

    /// Returns a separate build directory, so that runs with different flags do not rebuild each
    /// other's results.
    pub(crate) fn own_target_directory(&self, name: &str) -> String {
        self.workspace.target_directory.join(name).display().to_string()
    }
}
