//! Imitates a rented machine: a directory with an archive and the script, and an almost empty
//! environment.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::TaskError;
use crate::gpu_test::{SCRIPT, nextest_program};

/// The value of `PATH` on the machine.
const BARE_PATH: &str = "/usr/bin:/bin";

/// The machine's directory. Dropping the value removes the directory.
#[derive(Debug)]
pub(super) struct Machine(TempDir);

/// The arguments and environment variables for the script.
#[derive(Clone, Debug, Default)]
pub(super) struct Call<'c> {
    pub(super) arguments: Vec<&'c str>,
    pub(super) variables: Vec<(&'c str, &'c str)>,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) code: Option<i32>,
    pub(super) output: String,
    pub(super) errors: String,
    /// The directory of the report.
    pub(super) out: PathBuf,
}

impl Machine {
    /// Creates a machine that only contains the script.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be created.
    pub(super) fn with_script(root: &Path) -> Result<Self, TaskError> {
        let machine = Self(tempfile::tempdir()?);
        std::fs::copy(root.join(SCRIPT), machine.path("gpu-run.sh"))?;
        std::fs::create_dir(machine.path("home"))?;
        Ok(machine)
    }

    /// Returns the path of a file on the machine.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file on the machine.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, TaskError> {
        let path = self.path(name);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(&path, bytes)?;
        Ok(path)
    }

    /// Copies cargo-nextest into a directory. Returns `false` if cargo-nextest is not installed.
    ///
    /// # Errors
    ///
    /// Fails if the program cannot be copied.
    pub(super) fn put_nextest(&self, directory: &str) -> Result<bool, TaskError> {
        let Some(program) = nextest_program() else { return Ok(false) };
        std::fs::copy(program, self.path(directory).join("cargo-nextest"))?;
        Ok(true)
    }

    /// Runs the script on an archive. The report is written to a directory that is named after the
    /// run.
    ///
    /// # Errors
    ///
    /// If no shell can be started.
    pub(super) fn run(&self, name: &str, archive: &str, call: &Call<'_>) -> Result<Run, TaskError> {
        let out = self.path(&format!("report of {name}"));
        let mut shell = Command::new("env");
        shell.args(["-i", &format!("PATH={BARE_PATH}")]);
        shell.arg(format!("HOME={}", self.path("home").display()));
        shell.args(call.variables.iter().map(|(name, value)| format!("{name}={value}")));
        shell.args(["sh", "gpu-run.sh", archive]).args(&call.arguments).arg("--out").arg(&out);
        Ok(Run::of(&shell.current_dir(self.0.path()).output()?, out))
    }
}

impl Run {
    /// Creates the outcome of a process that has written its report to `out`.
    pub(super) fn of(ended: &Output, out: PathBuf) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (output, errors) = (text(&ended.stdout), text(&ended.stderr));
        Self { code: ended.status.code(), output, errors, out }
    }

    /// Returns the last line that is not a complaint.
    pub(super) fn last_line(&self) -> &str {
        self.output.lines().last().unwrap_or_default()
    }

    /// Returns the report of the run.
    pub(super) fn report(&self) -> Result<Value, String> {
        let text = self.file("gpu-report.json")?;
        serde_json::from_str(&text).map_err(|error| format!("gpu-report.json: {error}"))
    }

    /// Returns the contents of a file in the report.
    pub(super) fn file(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.out.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// Checks the exit code. The error contains everything that the process has printed.
    pub(super) fn ended_with(&self, code: i32) -> Result<(), String> {
        if self.code == Some(code) { Ok(()) } else { Err(self.to_string()) }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, output, errors, .. } = self;
        write!(formatter, "it ended with {code:?}:\n{output}{errors}")
    }
}
