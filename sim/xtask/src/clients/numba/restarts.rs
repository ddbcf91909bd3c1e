//! Runs one module to its end, restarting it after each test that ends the process or does not
//! finish.

use std::path::Path;
use std::process::Child;

use super::limits::{End, Limits};
use tasks::TaskError;

/// The maximum number of times that a module is started.
const STARTS: usize = 40;

/// The results of a module.
#[derive(Debug)]
pub(super) struct Module {
    /// The contents of the file of results.
    pub(super) text: String,
    /// If some tests did not run, the reason and the last test that has a result.
    pub(super) unfinished: Option<String>,
}

/// Starts processes that append to a file of results, until one of them finishes normally.
///
/// # Errors
///
/// Fails if a process cannot be started, waited for or stopped.
pub(super) fn run(
    limits: &mut Limits,
    results: &Path,
    mut start: impl FnMut() -> Result<Child, TaskError>,
) -> Result<Module, TaskError> {
    let mut text = String::new();
    for _ in 0..STARTS {
        let end = limits.wait(&mut start()?, results)?;
        let known = std::mem::replace(&mut text, read(results)?);
        let why = match end {
            End::Whole => return Ok(Module { text, unfinished: None }),
            End::OutOfTime => limits.to_string(),
            // There is no new result, so no further test has begun.
            End::Broken if text == known => {
                "the process ended before the next test began".to_owned()
            }
            End::Stuck if text == known => "no further test began".to_owned(),
            End::Broken | End::Stuck => continue,
        };
        return Ok(unfinished(text, &why));
    }
    Ok(unfinished(text, &format!("the tests ended the process {STARTS} times or did not finish")))
}

/// Reads a file of results. The file does not exist before the first test begins.
fn read(results: &Path) -> Result<String, TaskError> {
    match results.exists() {
        true => Ok(std::fs::read_to_string(results)?),
        false => Ok(String::new()),
    }
}

fn unfinished(text: String, why: &str) -> Module {
    let last = text.lines().last().and_then(|line| line.split('\t').nth(1)).unwrap_or("none");
    let why = format!("{why}; some tests did not run; the last test with a result: {last}");
    Module { text, unfinished: Some(why) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;
    use std::time::Duration;

    use super::super::limits::Limits;
    use super::{Module, STARTS, TaskError, run};

    /// Runs a shell script as a module. The script finds its file of results in `$0`.
    fn module(name: &str, script: &str) -> Result<Module, TaskError> {
        let file = format!("pool-numba-restarts-{name}-{}", std::process::id());
        let results: PathBuf = std::env::temp_dir().join(file);
        let mut limits = Limits::new(Duration::from_millis(500));
        let start = || Ok(Command::new("sh").args(["-c", script]).arg(&results).spawn()?);
        let module = run(&mut limits, &results, start);
        std::fs::remove_file(&results).ok();
        module
    }

    #[test]
    fn a_module_goes_on_behind_a_test_that_breaks_off_or_does_not_end() {
        let script = r#"
            grep -q a "$0" 2>/dev/null || { printf 'started\ta\t0\t\n' >>"$0"; kill -KILL $$; }
            grep -q b "$0" || { printf 'started\tb\t0\t\n' >>"$0"; exec sleep 1000; }
            printf 'started\tc\t0\t\npassed\tc\t0\t\n' >>"$0""#;
        let module = module("goes-on", script).unwrap();
        assert_eq!(module.unfinished, None);
        assert_eq!(module.text.lines().count(), 4, "{module:?}");
    }

    #[test]
    fn a_module_that_is_stuck_before_another_test_is_unfinished() {
        let script = r#"
            grep -q a "$0" 2>/dev/null || { printf 'passed\ta\t0\t\n' >>"$0"; kill -KILL $$; }
            exec sleep 1000"#;
        let why = module("stuck", script).unwrap().unfinished.unwrap();
        assert!(why.starts_with("no further test began"), "{why}");
        assert!(why.ends_with("the last test with a result: a"), "{why}");
    }

    #[test]
    fn a_module_whose_process_does_not_come_to_a_test_is_unfinished() {
        let why = module("broken", "exit 3").unwrap().unfinished.unwrap();
        assert!(why.starts_with("the process ended before the next test began"), "{why}");
        assert!(why.ends_with("the last test with a result: none"), "{why}");
    }

    #[test]
    fn a_module_that_is_broken_off_again_and_again_is_unfinished() {
        let script = r#"echo "started	$(cat "$0" 2>/dev/null | wc -l)	0	" >>"$0"; exit 86"#;
        let module = module("again", script).unwrap();
        assert_eq!(module.text.lines().count(), STARTS);
        let why = module.unfinished.unwrap();
        assert!(why.contains(&format!("{STARTS} times")), "{why}");
        assert!(why.ends_with(&format!("the last test with a result: {}", STARTS - 1)), "{why}");
    }
}
