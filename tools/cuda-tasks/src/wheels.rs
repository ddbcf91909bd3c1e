//! Pinned Python packages, unpacked in the target directory.
//!
//! pip downloads them. It is on most machines, uses the configured registry, caches its downloads, and compares
//! versions and SHA-256 with a file of pins.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use tasks::TaskError;

/// The words of pip's output if a package is not the pinned one.
const MISMATCH: &str = "DO NOT MATCH THE HASHES";

/// Packages of one file.
#[derive(Clone, Copy, Debug)]
pub struct Wheels {
    /// The name of their directory, and in messages.
    pub name: &'static str,
    /// The pins that pip gets.
    pub pins: &'static str,
    /// The file with the pins.
    pub file: &'static str,
}

impl Wheels {
    /// Returns their directory below the target directory, after a first download. The inner error is the reason for a skip.
    ///
    /// # Errors
    ///
    /// Fails if a package is not the pinned one, or the downloaded files cannot be moved into place.
    pub fn obtain(self, target: &Path) -> Result<Result<PathBuf, String>, TaskError> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Ok(Err(format!("the {} are pinned for Linux on x86-64 only", self.name)));
        }
        // Other pins, another directory.
        let name = format!("{}-{}", self.name, short_sum(self.pins));
        let directory = target.join("xtask").join(name);
        if !directory.is_dir() {
            if let Err(why) = self.download(&directory)? {
                return Ok(Err(why));
            }
        }
        Ok(Ok(directory))
    }

    /// Has pip unpack them beside the directory, which is there only when they are complete.
    fn download(self, directory: &Path) -> Result<Result<(), String>, TaskError> {
        let part = directory.with_extension(format!("{}", std::process::id()));
        let answer = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
            .args(["--retries", "1", "--no-deps", "--no-compile", "--only-binary", ":all:"])
            .args(["--require-hashes", "--requirement"])
            .arg(self.file)
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
            return self.refusal(&said).map(Err);
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
    /// Fails if pip downloaded another file than the pinned one.
    fn refusal(self, said: &str) -> Result<String, TaskError> {
        if said.contains(MISMATCH) {
            return Err(
                format!("one of the {} is not that of {}:\n{said}", self.name, self.file).into()
            );
        }
        let reason = said.lines().rev().find(|line| !line.trim().is_empty());
        Ok(format!(
            "pip does not get the {}: {}",
            self.name,
            reason.unwrap_or("it does not say why")
        ))
    }
}

/// The first 48 bits of a text's SHA-256.
#[must_use]
pub fn short_sum(text: &str) -> String {
    Sha256::digest(text).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Wheels, short_sum};

    const WHEELS: Wheels = Wheels { name: "compilers", pins: "", file: "pins.txt" };

    #[test]
    fn another_package_than_the_pinned_one_is_no_reason_to_skip() {
        assert!(WHEELS.refusal("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM ...").is_err());
        let said = "WARNING: retrying\nERROR: No matching distribution\n\n";
        let reason = WHEELS.refusal(said).unwrap();
        assert!(reason.ends_with("ERROR: No matching distribution"), "{reason}");
    }

    #[test]
    fn other_pins_lie_elsewhere() {
        assert_eq!(short_sum("abc"), "ba7816bf8f01");
        assert_ne!(short_sum("a"), short_sum("b"));
    }
}
