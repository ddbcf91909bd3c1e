//! Runs numba-cuda's own tests. The modules run in parallel, each in a pytest process that uses the
//! simulator as its driver.

mod environment;
mod limits;
mod modules;
mod restarts;
mod results;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use self::limits::Limits;
use self::results::Result as TestResult;
use super::listed::{Ending, List};
use super::place::Place;
use cuda_tasks::sim_test::simulated_driver;
use tasks::TaskError;
use tasks::checks::{Checks, same};
use tasks::programs::output;

/// The tests that cannot pass, with the reasons.
const LIST: &str = include_str!("list.tsv");
/// The path of the pytest plugin that writes the outcomes, relative to the root of the workspace.
const PLUGIN: &str = "xtask/src/clients/numba";
/// The prefixes of lines that the simulator prints for reports and for refused modules.
const REPORT: &str = "simulated driver: ";
const REFUSED_MODULE: &str = "invalid PTX: ";

/// Downloads the packages and runs the modules. If `parts` are given, only modules whose names
/// contain one of them run.
///
/// # Errors
///
/// Fails if a package differs from the pinned one, or if a process cannot be started.
pub(super) fn run(
    place: &Place,
    slow: bool,
    parts: &[String],
    checks: &mut Checks,
) -> Result<(), TaskError> {
    let list = List::parse(LIST)?;
    let python = match environment::obtain(&place.root)? {
        Ok(python) => python,
        Err(why) => {
            checks.skip(&list.of, &why);
            return Ok(());
        }
    };
    let suite = Suite::new(place, python)?;
    checks.that("numba-cuda: the list is for this version", same(&list.of, &suite.version()?));
    let mut modules = modules::all(&suite.tests)?;
    modules.retain(|module| {
        parts.is_empty() || parts.iter().any(|part| module.contains(part.as_str()))
    });
    let start = Instant::now();
    let is_run = |test: &str| modules.iter().any(|module| test.starts_with(module.as_str()));
    let mut left_out = list.left_out(slow);
    left_out.retain(|test| is_run(test));
    let to_run = modules.iter().filter(|module| !left_out.contains(module)).cloned().collect();
    let results = suite.run(to_run, &left_out)?;
    let tests: Vec<String> = results.keys().cloned().chain(left_out.iter().cloned()).collect();
    let mut unknown = list.unknown(&tests);
    unknown.retain(|test| parts.is_empty() || is_run(test));
    checks.that("numba-cuda: every listed test exists", same(&unknown, &Vec::new()));
    let tally = judge(&list, &results, checks);
    let seconds = start.elapsed().as_secs_f64();
    let Tally { passed, skipped, listed, wrong } = tally;
    let (count, listed) = (tests.len(), listed + left_out.len());
    println!(
        "{}: {} modules, {count} tests: {passed} passed, {listed} listed, {skipped} skipped themselves, \
         {wrong} wrong, in {seconds:.0} s",
        list.of,
        modules.len()
    );
    Ok(())
}

/// The number of tests for each outcome.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    skipped: usize,
    listed: usize,
    wrong: usize,
}

/// Compares outcomes with the list, and prints why the listed tests cannot pass.
fn judge(list: &List, results: &BTreeMap<String, TestResult>, checks: &mut Checks) -> Tally {
    let mut tally = Tally::default();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (test, result) in results {
        let ending = match result {
            TestResult::Skipped(_) => {
                tally.skipped += 1;
                continue;
            }
            TestResult::Ended(ending) => ending,
        };
        let held = list.judge(test, ending);
        match (&held, ending) {
            (Err(_), _) => tally.wrong += 1,
            (Ok(()), Ending::Passed) => tally.passed += 1,
            (Ok(()), Ending::Failed(_)) => tally.listed += 1,
        }
        if let (Ok(()), Ending::Failed(_), Some(listed)) = (&held, ending, list.get(test)) {
            *reasons.entry(&listed.reason).or_default() += 1;
        }
        if held.is_err() || *ending == Ending::Passed {
            checks.that(&format!("numba-cuda: {test}"), held);
        }
    }
    for (reason, count) in reasons {
        println!("listed: {count} tests: {reason}");
    }
    tally
}

/// An installed copy of numba-cuda.
#[derive(Debug)]
struct Suite {
    python: PathBuf,
    /// The directory that contains the tests.
    tests: PathBuf,
    /// The directory that contains the simulator under the driver's name.
    driver: PathBuf,
    /// The directory for results, logs and test output.
    made: PathBuf,
    plugin: PathBuf,
}

impl Suite {
    fn new(place: &Place, python: PathBuf) -> Result<Self, TaskError> {
        let made = place.made.join("numba");
        if made.exists() {
            fs::remove_dir_all(&made)?;
        }
        let driver = made.join("driver");
        fs::create_dir_all(&driver)?;
        fs::copy(simulated_driver()?.join("libcuda.so"), driver.join("libcuda.so.1"))?;
        let script = "import numba_cuda; print(numba_cuda.__path__[0])";
        let package = said(Command::new(&python).args(["-c", script]))?;
        let tests = Path::new(&package).join("numba/cuda/tests");
        let plugin = place.root.join(PLUGIN);
        Ok(Self { python, tests, driver, made, plugin })
    }

    fn version(&self) -> Result<String, TaskError> {
        let script = "import numba_cuda; print('numba-cuda', numba_cuda.__version__)";
        said(Command::new(&self.python).args(["-c", script]))
    }

    /// Runs modules in parallel, using one process per processor.
    fn run(
        &self,
        modules: VecDeque<String>,
        left_out: &[String],
    ) -> Result<BTreeMap<String, TestResult>, TaskError> {
        let queue = Mutex::new(modules);
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let work = || {
            let mut results = BTreeMap::new();
            while let Some(module) = next() {
                results
                    .extend(self.run_module(&module, left_out).map_err(|error| error.to_string())?);
            }
            Ok::<_, String>(results)
        };
        let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            let mut all = BTreeMap::new();
            for thread in threads {
                let results = thread.join().map_err(|_| "a thread that runs tests panicked")?;
                all.extend(results?);
            }
            Ok(all)
        })
    }

    /// Runs a module. If a test ends the process or does not finish, the module is restarted after
    /// that test.
    fn run_module(
        &self,
        module: &str,
        left_out: &[String],
    ) -> Result<BTreeMap<String, TestResult>, TaskError> {
        let name = module.replace('/', "-");
        let [file, log] = ["tsv", "log"].map(|end| self.made.join(format!("{name}.{end}")));
        let mut limits = Limits::default();
        let ran = restarts::run(&mut limits, &file, || {
            let output = fs::File::options().create(true).append(true).open(&log)?;
            let mut command = self.command(module, &file, left_out);
            command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
            Ok(command.spawn()?)
        })?;
        let mut results = results::parse(&ran.text);
        println!("{module}: {} tests, in {:.0} s", results.len(), limits.seconds());
        let is_left_out = left_out.iter().any(|test| test.starts_with(module));
        let mut fails = |test: String, why: String| {
            results.insert(test, TestResult::Ended(Ending::Failed(why)));
        };
        match ran.unfinished {
            // No list contains this name, because an unfinished module is never excused.
            Some(why) => fails(format!("{module}, to its end"), why),
            None if ran.text.is_empty() && !is_left_out => {
                fails(module.to_owned(), "pytest finds no tests in the module".to_owned());
            }
            None => {}
        }
        // If a module was refused, its tests fail.
        let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        for report in reports(&said).filter(|report| !report.starts_with(REFUSED_MODULE)) {
            println!("reported in {module}: {report}");
        }
        Ok(results)
    }

    fn command(&self, module: &str, results: &Path, left_out: &[String]) -> Command {
        let dotted = module.trim_end_matches(".py").replace('/', ".");
        let mut command = Command::new(&self.python);
        command.args(["-m", "pytest", "-q", "-W", "ignore", "--tb=short", "--capture=sys"]);
        command.args(["-p", "suite", "-p", "no:cacheprovider", "--import-mode=importlib"]);
        // The name of the package differs from the names of its directories.
        command.args(["-o", "consider_namespace_packages=true", "--rootdir"]).arg(&self.tests);
        command.arg("--pyargs").arg(format!("numba.cuda.tests.{dotted}"));
        command.current_dir(&self.made).env("PYTHONPATH", &self.plugin);
        command.env("CUDA_SIM_PRINT_REPORTS", "1");
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("LD_LIBRARY_PATH", &self.driver);
        command.env("POOL_SUITE_RESULTS", results).env("POOL_SUITE_LEFT_OUT", left_out.join("\n"));
        command
    }
}

/// Returns the reports in a log. Pytest may print progress characters before a report.
fn reports(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter_map(|line| line.split_once(REPORT).map(|(_, report)| report))
}

/// Returns the standard output of a program without the final newline.
fn said(command: &mut Command) -> Result<String, TaskError> {
    Ok(String::from_utf8(output(command)?)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::reports;

    #[test]
    fn reports_are_found_behind_the_signs_of_tests() {
        let log = "simulated driver: race: a\n..F.simulated driver: race: b\n.... [100%]\n";
        assert_eq!(reports(log).collect::<Vec<_>>(), ["race: a", "race: b"]);
    }
}
