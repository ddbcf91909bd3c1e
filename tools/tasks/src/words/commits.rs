//! Checks that the subjects of commits have at most 72 characters.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::checks::{Checks, Outcome};

/// The maximum number of characters in a subject.
const MOST: usize = 72;

/// Checks the commits after `base`. If the repository does not contain that commit, counts a skip.
pub(super) fn check(root: &Path, base: &str, checks: &mut Checks) {
    match subjects(root, base) {
        Some(log) => {
            let name = format!("{} commits since {base}: subjects", log.lines().count());
            checks.that(&name, short(&log));
        }
        None => checks
            .skip("subjects of commits", &format!("the history does not contain commit {base}")),
    }
}

/// Returns one line for each commit, with its abbreviated hash and its subject.
fn subjects(root: &Path, base: &str) -> Option<String> {
    let mut log = Command::new("git");
    log.args(["log", "--no-merges", "--format=%h %s", &format!("{base}..HEAD")]);
    let output = log.current_dir(root).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn short(log: &str) -> Outcome {
    let subjects = log.lines().filter_map(|line| line.split_once(' '));
    let long: Vec<String> = subjects
        .map(|(commit, subject)| (commit, subject, subject.chars().count()))
        .filter(|&(_, _, length)| length > MOST)
        .map(|(commit, subject, length)| {
            format!("\n    {commit}: {length} characters, but at most {MOST} allowed: {subject}")
        })
        .collect();
    if long.is_empty() { Ok(()) } else { Err(long.concat()) }
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use super::{MOST, check, short};
    use crate::checks::Checks;

    #[test]
    fn a_subject_of_73_characters_is_refused() {
        let subject = |length: usize| format!("abc {}\n", "ä".repeat(length));
        assert_eq!(short(&subject(MOST)), Ok(()));
        let refused = short(&[subject(10), subject(MOST + 1)].concat()).unwrap_err();
        assert!(refused.starts_with("\n    abc: 73 characters"), "{refused}");
        assert_eq!(refused.lines().count(), 2);
    }

    #[test]
    fn a_missing_history_is_a_skip() {
        let directory = tempfile::tempdir().unwrap();
        let mut checks = Checks::default();
        check(directory.path(), "0123456789", &mut checks);
        assert_eq!(checks.to_string(), "0 passed, 0 failed, 1 skipped");
        assert_eq!(checks.exit_code_of_optional(), ExitCode::SUCCESS);
    }
}
