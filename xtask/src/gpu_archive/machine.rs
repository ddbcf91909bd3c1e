//! A rented machine: a directory with an archive and the script, and an environment with nothing in
//! it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::TaskError;
use crate::gpu_test::{SCRIPT, nextest_program};

/// The value of its `PATH`.
const BARE_PATH: &str = "/usr/bin:/bin";

/// The directory, which is removed with this value.
#[derive(Debug)]
pub(super) struct Machine(TempDir);

/// The arguments and variables of the script.
#[derive(Clone, Debug, Default)]
pub(super) struct Call<'c> {
    pub(super) arguments: Vec<&'c str>,
    pub(super) variables: Vec<(&'c str, &'c str)>,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) code: Option<i32>,
    pub(super) output: String,
    pub(super) errors: String,
    /// The place of its report.
    pub(super) out: PathBuf,
}

impl Machine {
    /// Creates a machine with the script, and nothing else.
    ///
    /// # Errors
    ///
    /// If the directory cannot be made.
    pub(super) fn with_script(root: &Path) -> Result<Self, TaskError> {
        let machine = Self(tempfile::tempdir()?);
        std::fs::copy(root.join(SCRIPT), machine.path("gpu-run.sh"))?;
        std::fs::create_dir(machine.path("home"))?;
        Ok(machine)
    }

    /// Returns the path of a file there.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file there.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, TaskError> {
        let path = self.path(name);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(&path, bytes)?;
        Ok(path)
    }

    /// Puts cargo-nextest into a directory. Returns `false` if it is not installed.
    ///
    /// # Errors
    ///
    /// If it cannot be copied.
    pub(super) fn put_nextest(&self, directory: &str) -> Result<bool, TaskError> {
        let Some(program) = nextest_program() else { return Ok(false) };
        std::fs::copy(program, self.path(directory).join("cargo-nextest"))?;
        Ok(true)
    }

    /// Runs the script on an archive there; its report goes to a directory named after the run.
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
    /// Creates the end of a process that has written its report there.
    pub(super) fn of(ended: &Output, out: PathBuf) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (output, errors) = (text(&ended.stdout), text(&ended.stderr));
        Self { code: ended.status.code(), output, errors, out }
    }

    /// Returns the last line that is no complaint.
    pub(super) fn last_line(&self) -> &str {
        self.output.lines().last().unwrap_or_default()
    }

    /// Returns its report.
    pub(super) fn report(&self) -> Result<Value, String> {
        let text = self.file("gpu-report.json")?;
        serde_json::from_str(&text).map_err(|error| format!("gpu-report.json: {error}"))
    }

    /// Returns a file of its report.
    pub(super) fn file(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.out.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// Checks the exit code. The error has everything that the process printed.
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
