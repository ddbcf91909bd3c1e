//! The pinned compilers, unpacked in the target directory.
//!
//! They are Python packages, so pip gets them: it is on most machines, knows the registry that is set up
//! there, keeps what it has downloaded, and compares versions and SHA-256 with `toolkit.txt`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use crate::TaskError;

/// What pip is given.
const PINS: &str = include_str!("toolkit.txt");
/// The file with them, from the root of the workspace.
const PINS_FILE: &str = "xtask/src/kernels/toolkit.txt";
/// How pip says that a package is another than the pinned one.
const MISMATCH: &str = "DO NOT MATCH THE HASHES";

/// Where the compilers are.
#[derive(Clone, Debug)]
pub(crate) struct Toolkit {
    /// The library that makes PTX of C++.
    pub(crate) compiler: PathBuf,
    /// What that library opens by its name.
    pub(crate) builtins: PathBuf,
    /// The program that makes machine code of PTX.
    pub(super) assembler: PathBuf,
}

impl Toolkit {
    /// Those of the target directory, after a first download; the inner error says why there are none.
    ///
    /// # Errors
    ///
    /// When a package is not the pinned one, or what was downloaded cannot be put into its place.
    pub(crate) fn obtain(root: &Path, target: &Path) -> Result<Result<Self, String>, TaskError> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Ok(Err("the compilers are pinned for Linux on x86-64 only".to_owned()));
        }
        // Other pins, another directory.
        let directory = target.join("xtask").join(format!("toolkit-{}", short_sum(PINS)));
        if !directory.is_dir() {
            if let Err(why) = download(root, &directory)? {
                return Ok(Err(why));
            }
        }
        Self::of(&directory).map(Ok)
    }

    fn of(directory: &Path) -> Result<Self, TaskError> {
        let file = |path: &str| {
            let file = directory.join("nvidia").join(path);
            if file.is_file() {
                return Ok(file);
            }
            Err(format!("{} is missing: remove {}", file.display(), directory.display()))
        };
        Ok(Self {
            compiler: file("cuda_nvrtc/lib/libnvrtc.so.12")?,
            builtins: file("cuda_nvrtc/lib/libnvrtc-builtins.so.12.0")?,
            assembler: file("cuda_nvcc/bin/ptxas")?,
        })
    }
}

/// Has pip unpack them beside the directory, which is there only when they are complete.
fn download(root: &Path, directory: &Path) -> Result<Result<(), String>, TaskError> {
    let part = directory.with_extension(format!("{}", std::process::id()));
    let answer = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
        .args(["--retries", "1", "--no-deps", "--no-compile", "--only-binary", ":all:"])
        .args(["--require-hashes", "--requirement"])
        .arg(root.join(PINS_FILE))
        .arg("--target")
        .arg(&part)
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .stdin(Stdio::null())
        .output();
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Ok(Err(format!("python3 cannot be started: {error}"))),
    };
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr).into_owned();
        return refusal(&said).map(Err);
    }
    if let Err(error) = std::fs::rename(&part, directory) {
        std::fs::remove_dir_all(&part)?;
        // Another run of this task may have been faster.
        if !directory.is_dir() {
            return Err(error.into());
        }
    }
    Ok(Ok(()))
}

/// Why pip gave nothing.
///
/// # Errors
///
/// When it gave something else than what is pinned.
fn refusal(said: &str) -> Result<String, TaskError> {
    if said.contains(MISMATCH) {
        return Err(format!("a compiler is not the one of {PINS_FILE}:\n{said}").into());
    }
    let reason = said.lines().rev().find(|line| !line.trim().is_empty());
    Ok(format!("pip does not get the compilers: {}", reason.unwrap_or("it does not say why")))
}

fn short_sum(text: &str) -> String {
    Sha256::digest(text).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{PINS, refusal, short_sum};

    #[test]
    fn every_pin_has_a_version_and_a_sum() {
        let pins: Vec<&str> = PINS.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(pins.len(), 2);
        for pin in pins {
            let (version, sum) = pin.split_once(" --hash=sha256:").unwrap();
            assert!(version.ends_with("==12.0.140"), "{version}");
            assert!(sum.len() == 64 && sum.chars().all(|digit| digit.is_ascii_hexdigit()), "{sum}");
        }
    }

    #[test]
    fn another_package_than_the_pinned_one_is_no_reason_to_skip() {
        assert!(refusal("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM ...").is_err());
        let reason = refusal("WARNING: retrying\nERROR: No matching distribution\n\n").unwrap();
        assert!(reason.ends_with("ERROR: No matching distribution"), "{reason}");
    }

    #[test]
    fn other_pins_lie_elsewhere() {
        assert_eq!(short_sum("abc"), "ba7816bf8f01");
        assert_ne!(short_sum("a"), short_sum("b"));
    }
}
