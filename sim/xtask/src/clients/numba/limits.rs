//! Time limits for a module and for each of its tests.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use tasks::TaskError;

/// A module is stopped if no test has finished for this time. It then continues after the test that
/// did not finish.
const OF_A_TEST: Duration = Duration::from_secs(300);
/// The time after which a module is stopped and not restarted.
const OF_A_MODULE: Duration = Duration::from_secs(20 * 60);
/// The time between two checks of a module. It is short at first, in case the process ends
/// immediately.
const FIRST_GLANCE: Duration = Duration::from_millis(5);
const GLANCE: Duration = Duration::from_millis(200);
/// The maximum time that counts between two checks. If the whole machine was suspended, its tests
/// were also suspended.
const LONGEST_GLANCE: Duration = Duration::from_secs(2);

/// The time that a module has used in all its processes, and its limits.
#[derive(Debug)]
pub(super) struct Limits {
    taken: Duration,
    /// The time limit without a finished test.
    of_a_test: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(OF_A_TEST)
    }
}

/// How a module's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The process ended normally, with one of pytest's regular exit codes.
    Whole,
    /// A signal or a test ended the process.
    Broken,
    /// A test did not finish.
    Stuck,
    /// The module has used all its time.
    OutOfTime,
}

impl Limits {
    /// Creates limits with the given limit for a test.
    pub(super) fn new(of_a_test: Duration) -> Self {
        Self { taken: Duration::ZERO, of_a_test }
    }

    /// Waits until a process ends that appends to a file of results. Stops the process when it
    /// reaches a limit.
    ///
    /// # Errors
    ///
    /// Fails if the process cannot be waited for, or cannot be stopped.
    pub(super) fn wait(&mut self, child: &mut Child, results: &Path) -> Result<End, TaskError> {
        let (mut bytes, mut stuck, mut glanced) = (0, Duration::ZERO, Instant::now());
        let mut pause = FIRST_GLANCE;
        loop {
            if let Some(status) = child.try_wait()? {
                // Pytest's exit codes for: all tests passed, some failed, a file could not be
                // collected, there were no tests. Codes 3 and 4 mean that pytest itself failed.
                let is_whole = matches!(status.code(), Some(0 | 1 | 2 | 5));
                return Ok(if is_whole { End::Whole } else { End::Broken });
            }
            let passed = glanced.elapsed().min(LONGEST_GLANCE);
            glanced = Instant::now();
            self.taken += passed;
            stuck += passed;
            let now = fs::metadata(results).map_or(0, |about| about.len());
            if now != bytes {
                (bytes, stuck) = (now, Duration::ZERO);
            }
            if let Some(end) = self.reached(stuck) {
                child.kill()?;
                child.wait()?;
                return Ok(end);
            }
            thread::sleep(pause);
            pause = (2 * pause).min(GLANCE);
        }
    }

    fn reached(&self, stuck: Duration) -> Option<End> {
        match self.taken > OF_A_MODULE {
            true => Some(End::OutOfTime),
            false => (stuck > self.of_a_test).then_some(End::Stuck),
        }
    }

    /// Returns how many seconds the module has used.
    pub(super) fn seconds(&self) -> f64 {
        self.taken.as_secs_f64()
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped after {:.0} s", self.seconds())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    use super::{End, Limits, OF_A_MODULE, OF_A_TEST};

    #[test]
    fn a_process_is_whole_with_a_code_of_pytest_alone() {
        let ends = |script: &str| {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            Limits::default().wait(&mut child, Path::new("no results")).unwrap()
        };
        assert_eq!(ends("exit 1"), End::Whole);
        assert_eq!(ends("exit 5"), End::Whole);
        assert_eq!(ends("exit 3"), End::Broken);
        assert_eq!(ends("exit 86"), End::Broken);
        assert_eq!(ends("kill -KILL $$"), End::Broken);
    }

    #[test]
    fn a_module_out_of_time_is_stopped_and_says_so() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut limits = Limits { taken: OF_A_MODULE, ..Limits::default() };
        assert_eq!(limits.wait(&mut child, Path::new("no results")).unwrap(), End::OutOfTime);
        assert!(child.try_wait().unwrap().is_some(), "the process was stopped");
        assert!(limits.to_string().starts_with("stopped after 1200 s"), "{limits}");
    }

    #[test]
    fn a_test_has_less_time_than_its_module() {
        let limits = Limits { taken: OF_A_TEST, ..Limits::default() };
        assert_eq!(limits.reached(OF_A_TEST), None);
        assert_eq!(limits.reached(OF_A_TEST + Duration::from_secs(1)), Some(End::Stuck));
    }
}
