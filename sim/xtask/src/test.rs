//! `cargo xtask test`: runs every check of the simulator's workspace in order, and ends with one
//! line of counts.

use std::process::ExitCode;

use tasks::TaskError;
use tasks::steps::inputs::Inputs;
use tasks::steps::shared::{imports, links, words};
use tasks::steps::{self, Arguments, Invocation, Step};
use tasks::toolchains::Toolchains;
use tasks::workspace::{self, Workspace};

use crate::lists::PUBLISHED;

/// The number of orders in which each test runs on the simulated driver: `POOL_SIM_ORDERS`.
const ORDERS: u32 = 20;
/// The number of orders with `--full`.
const ORDERS_IN_FULL: u32 = 200;
/// The time limit of a test on the simulated driver, in seconds.
const PATIENCE: u32 = 300;
/// The time limit with `--full`, in seconds.
const PATIENCE_IN_FULL: u32 = 3_600;

/// All steps.
const STEPS: &[Step<Setting>] = &[
    Step::in_turn("formatting", "rustfmt changes nothing", formatting),
    Step::in_turn("clippy", "no warnings in the whole workspace", clippy),
    Step::in_turn("documentation", "no rustdoc warnings and no broken links", documentation),
    Step::in_turn("links", "all links in the documents resolve", links),
    Step::in_turn("imports", "no import cycles, and no imports outside the layering", imports),
    Step::in_turn("document-tests", "the PTX page lists what the decoder accepts", document_tests),
    Step::in_turn("words", "comments and documents follow docs/writing.md", words),
    Step::in_turn("tests", "unit, integration, and documentation tests", tests),
    Step::in_turn("simulated-driver", "tests on the simulated CUDA driver", simulated_driver),
    Step::beside("clients", "other projects' tests and kernels on the simulated driver", clients),
    Step::in_turn("oldest-rust", "the crates build with the oldest supported Rust", oldest_rust),
    Step::in_turn("published-pages", "the documentation as docs.rs builds it", published_pages),
    Step::in_turn(
        "sanitizers",
        "no invalid accesses and no data races in the simulated driver",
        sanitizers,
    )
    .in_full(),
];

/// The paths of the workspace's code, and of the kernel that a test of the interpreter mutates.
const CODE: &[&str] = &["sim/", "testing/pool-kernels/cuda/"];

/// The files that each step reads, relative to the root of the repository. `--changed-since` skips
/// the steps for which no file has changed. `tools/` is listed nowhere, so a change in `tools/`
/// runs everything.
const INPUTS: &[Inputs] = &[
    ("formatting", &[&["*"]]),
    ("clippy", &[CODE]),
    ("documentation", &[CODE]),
    ("links", &[&["*", "*.md"]]),
    ("words", &[&["*"]]),
    ("imports", &[CODE, &["sim/ARCHITECTURE.md"]]),
    ("document-tests", &[CODE, &["docs/ptx.md"]]),
    ("tests", &[CODE]),
    ("simulated-driver", &[CODE]),
    ("clients", &[CODE]),
    ("oldest-rust", &[CODE]),
    ("published-pages", &[CODE]),
    ("sanitizers", &[CODE]),
];

/// What the steps need to know about a run.
#[derive(Debug)]
struct Setting {
    workspace: Workspace,
    /// The oldest Rust release that is supported, from this task's manifest.
    oldest_rust: &'static str,
    toolchains: Toolchains,
    full: bool,
}

impl steps::Setting for Setting {
    fn workspace(&self) -> &Workspace {
        &self.workspace
    }
}

/// Runs the steps. The last line of the output is `N passed, N failed, N skipped`.
///
/// # Errors
///
/// Fails if the run could not start. A failed step is not returned as an error: it is counted.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    steps::run(arguments, STEPS, INPUTS, || {
        Ok(Setting {
            workspace: workspace::describe()?,
            oldest_rust: env!("CARGO_PKG_RUST_VERSION"),
            toolchains: Toolchains::detect(),
            full: arguments.full,
        })
    })
}

fn formatting(_: &Setting) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::check("fmt --all --check")])
}

fn clippy(_: &Setting) -> Result<Vec<Invocation>, String> {
    let lint = Invocation::check("clippy --workspace --all-targets -- -D warnings");
    Ok(vec![lint])
}

fn documentation(_: &Setting) -> Result<Vec<Invocation>, String> {
    let document = Invocation::check("doc --workspace --no-deps --document-private-items");
    Ok(vec![document.variable("RUSTDOCFLAGS", "-D warnings")])
}

/// Returns the unit tests that read a document. If only that document has changed, only these run.
fn document_tests(_: &Setting) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::tests("test --package cuda-sim --lib -- ptx::isa::")])
}

fn tests(_: &Setting) -> Result<Vec<Invocation>, String> {
    let test = Invocation::tests("test --workspace --lib --bins --tests --no-fail-fast");
    Ok(vec![test, Invocation::tests("test --workspace --doc --no-fail-fast")])
}

/// Checks that the dynamic loader is supported. The simulator replaces a driver through its soname,
/// which other loaders ignore.
fn has_loader() -> Result<(), String> {
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        Ok(())
    } else {
        Err("only the GNU loader on Linux loads the simulated driver".to_owned())
    }
}

/// Returns the invocation that runs the tests on the simulated driver.
fn sim_test(setting: &Setting, words: &str) -> Invocation {
    let patience = if setting.full { PATIENCE_IN_FULL } else { PATIENCE };
    let test = Invocation::counted_task("xtask sim-test --patience").with([patience.to_string()]);
    test.with(words.split_whitespace())
}

fn simulated_driver(setting: &Setting) -> Result<Vec<Invocation>, String> {
    has_loader()?;
    let orders = if setting.full { ORDERS_IN_FULL } else { ORDERS };
    Ok(vec![sim_test(setting, "--workspace").variable("POOL_SIM_ORDERS", orders.to_string())])
}

/// Returns the task that runs other projects' tests. If the registry or the compiler is
/// unreachable, the task prints this and counts it.
fn clients(setting: &Setting) -> Result<Vec<Invocation>, String> {
    has_loader()?;
    let clients = Invocation::counted_task("xtask clients");
    Ok(vec![if setting.full { clients } else { clients.with(["--short"]) }])
}

fn oldest_rust(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let toolchain = setting.toolchains.release(setting.oldest_rust)?;
    Ok(vec![Invocation::check("check").on(&toolchain).with(published())])
}

fn published_pages(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let nightly = setting.toolchains.nightly_with(&[])?;
    let document = Invocation::check("doc --no-deps --lib").on(&nightly).with(published());
    let directory = setting.workspace.target_directory.join("docs-rs").display().to_string();
    let document = document.variable("CARGO_TARGET_DIR", directory);
    Ok(vec![document.variable("RUSTDOCFLAGS", "--cfg docsrs -D warnings")])
}

fn sanitizers(setting: &Setting) -> Result<Vec<Invocation>, String> {
    has_loader()?;
    if !cfg!(target_arch = "x86_64") {
        return Err("sanitizers run only on x86_64".to_owned());
    }
    setting.toolchains.nightly_with(&["rust-src"])?;
    Ok(["--sanitizer address", "--sanitizer thread"].map(|which| sim_test(setting, which)).into())
}

/// Returns the arguments that select the published crates.
fn published() -> impl Iterator<Item = &'static str> {
    PUBLISHED.iter().flat_map(|name| ["--package", name])
}

#[cfg(test)]
mod tests {
    use tasks::steps::inputs::{steps_after, unmatched};

    use super::{INPUTS, STEPS};

    #[test]
    fn every_step_has_its_inputs() {
        assert_eq!(unmatched(STEPS, INPUTS), [""; 0]);
    }

    #[test]
    fn a_damaged_kernel_is_tested_and_an_unknown_path_runs_everything() {
        let kernel = "testing/pool-kernels/cuda/reduction.ptx";
        assert!(steps_after(STEPS, INPUTS, kernel).contains(&"tests"));
        for unknown in ["tools/tasks/src/lib.rs", "sim.toml", "Cargo.toml"] {
            assert_eq!(steps_after(STEPS, INPUTS, unknown).len(), STEPS.len(), "{unknown}");
        }
    }
}
