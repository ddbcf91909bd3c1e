//! One cargo command of a step: how it is displayed, run with a log, and counted.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tally::Tally;

/// Variables that would affect a nested cargo.
///
/// `CARGO` names the cargo that started this task, which `cargo +nightly` must not inherit. The
/// version of the CUDA bindings is set in `.cargo/config.toml`.
const REMOVED: &[&str] = &["CARGO", "CUDARC_CUDA_VERSION"];

/// A cargo command that is ready to run.
#[derive(Clone, Debug)]
pub struct Invocation {
    toolchain: Option<String>,
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
    directory: Option<&'static str>,
    counting: Counting,
}

/// How the results of a command are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// The command counts as a single check.
    AsOne,
    /// The output contains the number of tests. There must be at least one.
    Tests,
    /// The output contains the number of tests, which may be 0.
    TestsIfAny,
    /// The last line of the output contains the counts.
    ClosingLine,
}

impl Invocation {
    /// Creates a command that counts as a single check: `cargo` with these arguments, separated by
    /// spaces.
    pub fn check(words: &str) -> Self {
        let arguments = words.split_whitespace().map(str::to_owned).collect();
        Self {
            toolchain: None,
            arguments,
            variables: Vec::new(),
            directory: None,
            counting: Counting::AsOne,
        }
    }

    /// Creates a command that runs tests and prints their number.
    #[must_use]
    pub fn tests(words: &str) -> Self {
        Self { counting: Counting::Tests, ..Self::check(words) }
    }

    /// Creates a command that runs the tests of crates that may have none.
    #[must_use]
    pub fn tests_if_any(words: &str) -> Self {
        Self { counting: Counting::TestsIfAny, ..Self::check(words) }
    }

    /// Creates a command that runs one of the project's tasks, whose last line contains the counts.
    #[must_use]
    pub fn counted_task(words: &str) -> Self {
        Self { counting: Counting::ClosingLine, ..Self::check(words) }
    }

    /// Selects a toolchain other than the one that runs this task.
    #[must_use]
    pub fn on(mut self, toolchain: &str) -> Self {
        self.toolchain = Some(toolchain.to_owned());
        self
    }

    /// Appends arguments.
    pub fn with<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub fn variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Runs the command in a directory below the root, which contains another workspace of the
    /// repository.
    #[must_use]
    pub fn inside(mut self, directory: &'static str) -> Self {
        self.directory = Some(directory);
        self
    }

    /// Returns how the results are counted.
    pub(super) fn counting(&self) -> Counting {
        self.counting
    }

    /// Runs the command at `root` and appends its output to `log`. Returns the counts and the
    /// output.
    ///
    /// # Errors
    ///
    /// Fails if the log cannot be written or if the command cannot be started.
    pub(super) fn run(&self, root: &Path, log: &Path) -> std::io::Result<(Tally, String)> {
        let mut log = OpenOptions::new().read(true).append(true).create(true).open(log)?;
        writeln!(log, "$ {self}")?;
        let start = log.stream_position()?;
        let succeeded = self.command(root, &log)?.status()?.success();
        let output = read_from(&mut log, start)?;
        let tally = match self.counting {
            Counting::AsOne => Tally::of_one_check(succeeded),
            Counting::Tests | Counting::TestsIfAny => Tally::of_tests(&output, succeeded),
            Counting::ClosingLine => Tally::of_closing_line(&output, succeeded),
        };
        Ok((tally, output))
    }

    /// Returns the process. It has no input, and both outputs go to the log in the order in which
    /// they are written.
    fn command(&self, root: &Path, log: &File) -> std::io::Result<Command> {
        let mut command = Command::new("cargo");
        command
            .args(self.toolchain.as_ref().map(|name| format!("+{name}")))
            .args(&self.arguments)
            .current_dir(self.directory.map_or_else(|| root.to_owned(), |one| root.join(one)))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_PROGRESS_WHEN", "never")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?);
        for name in REMOVED {
            command.env_remove(name);
        }
        Ok(command)
    }
}

/// Formats the command as it would be typed into a shell.
impl fmt::Display for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(directory) = self.directory {
            write!(formatter, "cd {directory} && ")?;
        }
        for (name, value) in &self.variables {
            write!(formatter, "{name}={} ", Quoted(value))?;
        }
        formatter.write_str("cargo")?;
        if let Some(toolchain) = &self.toolchain {
            write!(formatter, " +{toolchain}")?;
        }
        self.arguments.iter().try_for_each(|argument| write!(formatter, " {}", Quoted(argument)))
    }
}

/// A word that is displayed in quotes if a shell would split or expand it.
struct Quoted<'w>(&'w str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = !self.0.contains(|letter: char| letter.is_whitespace() || letter == '*');
        if plain { formatter.write_str(self.0) } else { write!(formatter, "'{}'", self.0) }
    }
}

/// Reads a file from a position to its end, and replaces invalid UTF-8.
fn read_from(file: &mut File, start: u64) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{Counting, Invocation};

    #[test]
    fn is_shown_as_it_is_typed() {
        let invocation = Invocation::tests("miri test --test *")
            .on("nightly")
            .with(["--package", "pool-core"])
            .variable("MIRIFLAGS", "-Za -Zb")
            .variable("POOL_TEST_CASES", "50");
        assert_eq!(
            invocation.to_string(),
            "MIRIFLAGS='-Za -Zb' POOL_TEST_CASES=50 cargo +nightly miri test --test '*' --package pool-core"
        );
        assert_eq!(invocation.counting(), Counting::Tests);
        let elsewhere = Invocation::check("xtask test").inside("planner");
        assert_eq!(elsewhere.to_string(), "cd planner && cargo xtask test");
    }

    #[test]
    fn output_and_status_reach_log_and_counts() {
        let log = std::env::temp_dir().join(format!("xtask-invocation-{}.log", std::process::id()));
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let (good, answer) = Invocation::check("--version").run(root, &log).unwrap();
        let (bad, complaint) = Invocation::check("no-such-subcommand").run(root, &log).unwrap();
        let whole = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        assert_eq!((good.passed, good.failed), (1, 0));
        assert_eq!((bad.passed, bad.failed), (0, 1));
        assert!(answer.starts_with("cargo ") && complaint.contains("no-such-subcommand"));
        assert!(whole.contains(&answer) && whole.contains(&complaint));
    }
}
