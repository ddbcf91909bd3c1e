//! Runs one test in its own process, and stops the test if it takes too long.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tasks::TaskError;

use super::programs::Program;

/// The settings of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) seed: u64,
    pub(super) background: bool,
    /// The version of the simulated driver, if it differs from the default.
    pub(super) driver_version: Option<u32>,
    pub(super) patience: Duration,
    /// The number of this process among those that run at the same time.
    pub(super) place: usize,
}

/// The outcome of a test.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The test passed and printed these figures.
    Passed(Vec<String>),
    /// The test could not run on this system, for this reason.
    NotAsked(String),
    Failed(String),
}

/// The first CUDA version that has all calls that pool-graph needs.
const GRAPHS_SINCE: u32 = 12_030;

/// The time between two checks of a running test.
const GLANCE: Duration = Duration::from_millis(2);

/// Runs a test.
///
/// # Errors
///
/// Fails if the process cannot be started.
pub(super) fn run(program: &Program, test: &str, run: &Run) -> Result<Ending, TaskError> {
    let mut log = log_file(program, run.place)?;
    let mut command = Command::new(&program.path);
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env("CUDA_SIM_SEED", run.seed.to_string());
    // Memory that work in flight may access is leaked on purpose, especially in the driver
    // questions.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    if run.background {
        command.env("CUDA_SIM_BACKGROUND", "1");
    }
    if let Some(version) = run.driver_version {
        command.env("CUDA_SIM_DRIVER_VERSION", version.to_string());
    }
    if let Some(libraries) = &program.libraries {
        command.env("LD_LIBRARY_PATH", libraries).env("DRIVER_CONFORMANCE_SIMULATOR", "1");
    }
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    let mut child = command.spawn()?;
    let status = wait(&mut child, run.patience)?;
    let mut output = String::new();
    log.seek(SeekFrom::Start(0))?;
    log.read_to_string(&mut output)?;
    let ended = ending(status, &output);
    Ok(match (too_old(&output, run.driver_version), ended) {
        (Some(why), Ending::Failed(_)) => Ending::NotAsked(why),
        (_, ended) => ended,
    })
}

/// Returns the test's error if the requested driver version is too old. Graph memory needs 12.3,
/// and the rest supports older versions.
fn too_old(output: &str, version: Option<u32>) -> Option<String> {
    let version = version.filter(|&version| version < GRAPHS_SINCE)?;
    let error = format!("DriverTooOld {{ driver: {version}, needed: {GRAPHS_SINCE} }}");
    output.contains(&error).then_some(error)
}

/// Creates a log file next to the program. A test with much output would block on a pipe
/// without a reader.
fn log_file(program: &Program, place: usize) -> Result<File, TaskError> {
    let path = program.path.with_extension(format!("sim-test-{place}.log"));
    let options = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    Ok(options)
}

/// Returns `None` if the test took too long and was stopped.
fn wait(child: &mut Child, patience: Duration) -> Result<Option<ExitStatus>, TaskError> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(GLANCE);
    }
}

fn ending(status: Option<ExitStatus>, output: &str) -> Ending {
    match status {
        None => Ending::Failed(format!("{output}\nthe test took too long and was stopped")),
        Some(status) if !status.success() => Ending::Failed(format!("{output}\n{status}")),
        Some(_) if !output.contains("1 passed") => {
            Ending::Failed(format!("{output}\nno test of this name ran"))
        }
        Some(_) if output.lines().any(|line| line.starts_with("NOT ASKED: ")) => {
            // The first line that a test prints follows its name.
            let why = output.lines().find_map(|line| line.split_once("SKIPPED: "));
            Ending::NotAsked(why.map_or("no reason was given", |(_, why)| why).to_owned())
        }
        Some(_) => Ending::Passed(figures(output)),
    }
}

/// Returns the figures that a passing test has printed. The first figure follows the test's name.
fn figures(output: &str) -> Vec<String> {
    let figure = |line: &str| Some(line.split_once("FIGURE: ")?.1.to_owned());
    output.lines().filter_map(figure).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::{Ending, ending, too_old};

    fn of(code: i32, output: &str) -> Ending {
        ending(Some(ExitStatus::from_raw(code)), output)
    }

    #[test]
    fn a_test_that_did_not_run_has_not_passed() {
        assert_eq!(of(0, "test result: ok. 1 passed"), Ending::Passed(Vec::new()));
        assert!(matches!(of(0, "test result: ok. 0 passed"), Ending::Failed(_)));
        assert!(matches!(of(256, "1 passed"), Ending::Failed(_)));
        assert!(matches!(ending(None, ""), Ending::Failed(_)));
    }

    #[test]
    fn a_driver_is_too_old_only_where_that_was_asked_for() {
        let output = "called `unwrap()` on DriverTooOld { driver: 12000, needed: 12030 }";
        assert!(too_old(output, Some(12_000)).is_some_and(|why| why.contains("12030")));
        assert_eq!(too_old(output, None), None);
        assert_eq!(too_old(output, Some(12_030)), None);
        assert_eq!(too_old("DriverTooOld { driver: 12000, needed: 12080 }", Some(12_000)), None);
        assert_eq!(too_old("another error", Some(12_000)), None);
    }

    #[test]
    fn figures_of_a_test_that_passes_are_reported() {
        let output = "test a ... FIGURE: 3 of 4\nFIGURE: none raced\ntest result: ok. 1 passed";
        let figures = ["3 of 4", "none raced"].map(str::to_owned).into();
        assert_eq!(of(0, output), Ending::Passed(figures));
    }

    #[test]
    fn a_question_that_was_not_asked_is_skipped_with_its_reason() {
        let output =
            "test a ... SKIPPED: topic: the driver has no cuTurbo\nNOT ASKED: topic\n1 passed";
        let why = "topic: the driver has no cuTurbo".to_owned();
        assert_eq!(of(0, output), Ending::NotAsked(why));
    }
}
