//! Runs cudarc's own tests of its driver and NVRTC modules, each in its own process with two
//! simulated devices.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::listed::{Ending, List};
use super::place::Place;
use cuda_tasks::Toolkit;
use cuda_tasks::sim_test::simulated_driver;
use tasks::TaskError;
use tasks::checks::{Checks, Outcome, same};
use tasks::programs::{self, cargo};
use tasks::source;

/// The tests that cannot pass, with the reasons.
const LIST: &str = include_str!("cudarc.tsv");
/// The features that the tested modules need.
const FEATURES: &str = "std,driver,nvrtc,f16,fallback-dynamic-loading";
/// The CUDA version of the bindings that the tests use. It is the version that this project uses.
const CUDA_VERSION: &str = "13000";
/// The time limit of a test. The longest of the slow tests takes many minutes.
const PATIENCE: Duration = Duration::from_secs(3600);
/// The instruction limit of a kernel. A thread in cudarc's slow kernel executes 16 million
/// instructions.
const INSTRUCTIONS: &str = "100000000";
/// The time between two checks of a running test.
const GLANCE: Duration = Duration::from_millis(5);

/// Downloads, builds and runs the tests.
///
/// # Errors
///
/// Fails if the tests cannot be built, or if a process cannot be started.
pub(super) fn run(place: &Place, slow: bool, checks: &mut Checks) -> Result<(), TaskError> {
    let list = List::parse(LIST)?;
    let version = locked_version(place)?;
    let name = format!("cudarc {version}");
    checks.that(&format!("{name}: the list is for this version"), same(&list.of, &name));
    let suite = match obtain(&version, place)? {
        Ok(suite) => suite,
        Err(why) => {
            checks.skip(&name, &why);
            return Ok(());
        }
    };
    let tests = programs::tests(&suite.program)?;
    checks.that(
        &format!("{name}: every listed test exists"),
        same(&list.unknown(&tests), &Vec::new()),
    );
    let start = Instant::now();
    let mut tally = Tally::default();
    for test in &tests {
        let listed = list.get(test);
        if let Some(listed) = listed {
            println!("listed: {test} ({}): {}", listed.place, listed.reason);
        }
        if listed.is_some_and(|listed| listed.is_left_out(slow)) {
            tally.listed += 1;
            continue;
        }
        let ending = suite.run(test, place)?;
        let held = list.judge(test, &ending);
        tally.count(&ending, &held);
        checks.that(&format!("{name}: {test}"), held);
    }
    tally.tests = tests.len();
    println!("{name}: {tally}, in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The tests after they have been built.
#[derive(Debug)]
struct Suite {
    program: PathBuf,
    /// The library path with which the dynamic loader finds the simulator as the driver, and the
    /// CUDA C++ compiler.
    libraries: OsString,
}

/// Downloads the sources and the compiler, and builds the tests. The inner error names a download
/// that failed.
fn obtain(version: &str, place: &Place) -> Result<Result<Suite, String>, TaskError> {
    let toolkit = match Toolkit::obtain(&place.compilers)? {
        Ok(toolkit) => toolkit,
        Err(why) => return Ok(Err(why)),
    };
    let sources = match source::obtain("cudarc", version, &place.made)? {
        Ok(sources) => sources,
        Err(why) => return Ok(Err(why)),
    };
    let libraries = libraries(place, &toolkit)?;
    Ok(build(&sources, place)?.map(|program| Suite { program, libraries }))
}

/// Returns the version of cudarc that the workspace uses.
fn locked_version(place: &Place) -> Result<String, TaskError> {
    let locked = fs::read_to_string(place.root.join("Cargo.lock"))?;
    let found = locked.split_once("name = \"cudarc\"\nversion = \"");
    let version = found.and_then(|(_, rest)| rest.split_once('"'));
    Ok(version.ok_or("Cargo.lock does not name cudarc")?.0.to_owned())
}

/// Returns the directories for the dynamic loader. They contain the simulator under the driver's
/// name, and the compiler that cudarc loads.
fn libraries(place: &Place, toolkit: &Toolkit) -> Result<OsString, TaskError> {
    let driver = place.made.join("driver");
    fs::create_dir_all(&driver)?;
    fs::copy(simulated_driver()?.join("libcuda.so"), driver.join("libcuda.so"))?;
    let compiler = toolkit.compiler.parent().ok_or("the compiler is not in a directory")?;
    Ok(std::env::join_paths([driver.as_path(), compiler])?)
}

/// Builds the crate's own test program in the directory in which cargo unpacked it. The inner error
/// describes a failed download of dependencies.
fn build(sources: &Path, place: &Place) -> Result<Result<PathBuf, String>, TaskError> {
    let manifest = sources.join("Cargo.toml");
    let mut fetch = cargo();
    fetch.args(["fetch", "--quiet", "--locked", "--manifest-path"]).arg(&manifest);
    let answer = fetch.stdin(Stdio::null()).output()?;
    if !answer.status.success() {
        return Ok(Err(source::reason(&String::from_utf8_lossy(&answer.stderr))));
    }
    let mut test = cargo();
    test.args(["test", "--quiet", "--no-run", "--locked", "--lib", "--no-default-features"]);
    test.args(["--features", FEATURES, "--manifest-path"]).arg(&manifest);
    test.env("CARGO_TARGET_DIR", place.made.join("build")).env("RUSTFLAGS", "--cap-lints=allow");
    test.env("CARGO_PROFILE_TEST_DEBUG", "0").env("CUDARC_CUDA_VERSION", CUDA_VERSION);
    let built = programs::build(&mut test)?;
    let program = built.into_iter().find_map(|artifact| artifact.executable);
    Ok(Ok(program.ok_or("cargo reports no test program for cudarc")?))
}

impl Suite {
    /// Runs one test, even if it is ignored by default.
    fn run(&self, test: &str, place: &Place) -> Result<Ending, TaskError> {
        let path = place.made.join("cudarc-test.log");
        let log = fs::File::create(&path)?;
        let mut command = Command::new(&self.program);
        command.args(["--exact", test, "--include-ignored", "--test-threads", "1"]);
        command.env("LD_LIBRARY_PATH", &self.libraries).env("CUDA_SIM_DEVICES", "2");
        command.env("CUDA_SIM_INSTRUCTIONS", INSTRUCTIONS).env("CUDA_SIM_PRINT_REPORTS", "1");
        command.env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let status = wait(&mut command.spawn()?)?;
        let output = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        for report in output.lines().filter_map(|line| line.strip_prefix("simulated driver: ")) {
            println!("reported in {test}: {report}");
        }
        Ok(match status {
            Some(status) if !status.success() => Ending::Failed(format!("{output}\n{status}")),
            Some(_) if output.contains("1 passed") => Ending::Passed,
            Some(_) => Ending::Failed(format!("{output}\nno test of this name ran")),
            None => Ending::Failed(format!("{output}\nthe test took too long and was stopped")),
        })
    }
}

/// Waits for the test. Returns `None` if the test exceeded its time limit and was stopped.
fn wait(child: &mut Child) -> Result<Option<ExitStatus>, TaskError> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(GLANCE);
    }
}

/// The number of tests for each outcome.
#[derive(Debug, Default)]
struct Tally {
    tests: usize,
    passed: usize,
    listed: usize,
    wrong: usize,
}

impl Tally {
    /// Counts a test that has run.
    fn count(&mut self, ending: &Ending, held: &Outcome) {
        match (held, ending) {
            (Err(_), _) => self.wrong += 1,
            (Ok(()), Ending::Passed) => self.passed += 1,
            (Ok(()), Ending::Failed(_)) => self.listed += 1,
        }
    }
}

/// Formats the result of the suite on one line.
impl std::fmt::Display for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tests, passed, listed, wrong } = self;
        write!(formatter, "{tests} tests: {passed} passed, {listed} listed, {wrong} wrong")
    }
}
