//! Installs Python with numba-cuda and its compilers, in a virtual environment outside the
//! repository.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cuda_tasks::short_sum;
use tasks::TaskError;

/// The requirements file for pip.
const PACKAGES: &str = include_str!("packages.txt");
/// The path of the requirements file, relative to the root of the workspace.
const FILE: &str = "xtask/src/clients/numba/packages.txt";
/// A file that exists once everything is installed.
const COMPLETE: &str = "complete";
/// Pip's message if a package differs from the pinned one.
const MISMATCH: &str = "DO NOT MATCH THE HASHES";

/// Returns the path of a Python that has all packages. If there is none, the inner error states the
/// reason. An environment is reused as long as the packages are the same.
///
/// # Errors
///
/// Fails if a package differs from the pinned one, or if a file cannot be written.
pub(super) fn obtain(root: &Path) -> Result<Result<PathBuf, String>, TaskError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Err("its packages are pinned only for Linux on x86-64".to_owned()));
    }
    let directory = env::temp_dir().join(format!("pool-numba-{}", short_sum(PACKAGES)));
    let python = directory.join("bin/python");
    if directory.join(COMPLETE).is_file() {
        return Ok(Ok(python));
    }
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    println!("installing the packages of numba-cuda in {}", directory.display());
    if let Err(why) = run(Command::new("python3").args(["-m", "venv"]).arg(&directory)) {
        return Ok(Err(format!("no virtual environment: {}", last_line(&why))));
    }
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
    install.args(["--retries", "1", "--no-deps", "--only-binary", ":all:", "--require-hashes"]);
    install.arg("--requirement").arg(root.join(FILE));
    match run(&mut install) {
        Ok(()) => {
            fs::write(directory.join(COMPLETE), "")?;
            Ok(Ok(python))
        }
        Err(said) if said.contains(MISMATCH) => {
            Err(format!("a package of numba-cuda differs from the pin in {FILE}:\n{said}").into())
        }
        Err(said) => Ok(Err(format!("pip cannot obtain its packages: {}", last_line(&said)))),
    }
}

/// Runs a command. If it fails, the error is the text of its standard error.
fn run(command: &mut Command) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(answer) if answer.status.success() => Ok(()),
        Ok(answer) => {
            let said = [answer.stdout, answer.stderr].concat();
            Err(String::from_utf8_lossy(&said).into_owned())
        }
        Err(error) => Err(format!("python3 cannot be started: {error}")),
    }
}

fn last_line(said: &str) -> &str {
    said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason is given")
}

#[cfg(test)]
mod tests {
    use super::{PACKAGES, last_line};

    #[test]
    fn every_package_has_a_version_and_sums() {
        let pins: Vec<&str> = PACKAGES.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(pins.iter().any(|pin| pin.starts_with("numba-cuda==")), "{pins:?}");
        for pin in pins {
            let (package, sums) = pin.split_once(" --hash=sha256:").unwrap();
            assert!(package.split_once("==").is_some_and(|(_, version)| !version.is_empty()));
            for sum in sums.split(" --hash=sha256:") {
                let is_sum = sum.len() == 64 && sum.chars().all(|digit| digit.is_ascii_hexdigit());
                assert!(is_sum, "{sum}");
            }
        }
    }

    #[test]
    fn the_reason_stands_last() {
        assert_eq!(last_line("WARNING: retrying\nERROR: none\n\n"), "ERROR: none");
    }
}
