//! The encoders that are compared, and the programs that contain them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tasks::TaskError;
use tasks::programs;
use tasks::workspace::Workspace;

/// This project's encoders, as named in tables and in the program's argument. The first uses a pool
/// for its temporaries.
const OURS: [(&str, &str); 3] =
    [("pool", "pool"), ("the same, plain blocks", "kept"), ("the same, fresh blocks", "fresh")];
/// The other encoders, as named in the script's argument, each with code that prints its version if
/// it is installed.
const OTHERS: [(&str, &str); 2] = [
    ("torch", "import numpy, torch; print('torch', torch.__version__)"),
    ("onnxruntime", "import numpy, onnx, onnxruntime as it; print('ONNX Runtime', it.__version__)"),
];
/// The path of the script, relative to the root of the workspace.
const SCRIPT: &str = "encoder/peers/serve.py";
/// The package that implements the model with candle. Its version is candle's version.
const CANDLE: &str = "encoder/peers/candle/Cargo.toml";

/// An encoder: a program that encodes sentences on request.
#[derive(Debug)]
pub(super) struct Way {
    /// The name that is used in tables.
    pub(super) name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
}

/// Returns this project's encoders and the other available ones. Prints which are not available.
pub(super) fn all(workspace: &Workspace, program: &Path, python: &Path, model: &Path) -> Vec<Way> {
    let (model, script) = (model.as_os_str(), workspace.root.join(SCRIPT));
    let ours = OURS.map(|(name, way)| {
        Way::new(
            name,
            program,
            &["--model".as_ref(), model, "serve".as_ref(), "--way".as_ref(), way.as_ref()],
        )
    });
    let others = OTHERS.iter().filter_map(|(library, version)| match printed(python, version) {
        Ok(name) => {
            let library = library.as_ref();
            let with = ["--with".as_ref(), library, "--model".as_ref(), model];
            Some(Way::new(&name, python, &[&[script.as_os_str()][..], &with].concat()))
        }
        Err(why) => {
            println!("SKIPPED: {library}: {why}");
            None
        }
    });
    let candle = match candle(workspace) {
        Ok((name, program)) => Some(Way::new(&name, &program, &["--model".as_ref(), model])),
        Err(why) => {
            println!("SKIPPED: candle: {why}");
            None
        }
    };
    ours.into_iter().chain(others).chain(candle).collect()
}

/// Builds the program that uses candle. Returns its name for tables and its path.
fn candle(workspace: &Workspace) -> Result<(String, PathBuf), TaskError> {
    let mut build = programs::cargo();
    build.args(["build", "--release", "--locked", "--manifest-path"]);
    build.arg(workspace.root.join(CANDLE));
    build.env("CARGO_TARGET_DIR", workspace.target_directory.join("encode").join("candle"));
    let built = programs::build(&mut build)?;
    let program = built.into_iter().find_map(|artifact| artifact.executable);
    let program = program.ok_or("cargo built no program")?;
    let version = programs::output(Command::new(&program).arg("--version"))?;
    let version = std::str::from_utf8(&version)?.trim().replace("-peer", "");
    Ok((version, program))
}

/// Runs a line of Python code. Returns the output or, if the code fails, the last line of the
/// error.
fn printed(python: &Path, line: &str) -> Result<String, String> {
    let answer = Command::new(python).args(["-c", line]).stdin(Stdio::null()).output();
    let answer = answer.map_err(|error| format!("{}: {error}", python.display()))?;
    let said = if answer.status.success() { &answer.stdout } else { &answer.stderr };
    let said = String::from_utf8_lossy(said);
    let last =
        said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    if answer.status.success() { Ok(last) } else { Err(last) }
}

impl Way {
    fn new(name: &str, program: &Path, arguments: &[&OsStr]) -> Self {
        let arguments = arguments.iter().map(|one| (*one).to_owned()).collect();
        Self { name: name.to_owned(), program: program.to_owned(), arguments }
    }

    /// Returns the command that runs the program with one thread.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        for name in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"] {
            command.env(name, "1");
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::printed;

    #[test]
    fn what_is_not_there_is_reported_by_name() {
        let why = printed(Path::new("no-such-python"), "").unwrap_err();
        assert!(why.contains("no-such-python"), "{why}");
        let shell = Path::new("sh");
        assert_eq!(printed(shell, "echo it 1.2"), Ok("it 1.2".to_owned()));
        let why = printed(shell, "echo traceback >&2; echo no module >&2; exit 1");
        assert_eq!(why, Err("no module".to_owned()));
    }
}
