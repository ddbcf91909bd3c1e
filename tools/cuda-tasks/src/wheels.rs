//! Pinned Python packages, which are unpacked in the target directory.
//!
//! The packages are downloaded with pip. pip is available on most machines, uses the configured
//! registry, caches its downloads, and checks versions and SHA-256 sums against a file of pins.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use tasks::TaskError;

/// The text that pip prints if a package differs from the pinned one.
const MISMATCH: &str = "DO NOT MATCH THE HASHES";

/// The packages in one file of pins.
#[derive(Clone, Copy, Debug)]
pub struct Wheels {
    /// The name of their directory, which is also used in messages.
    pub name: &'static str,
    /// The pins that are passed to pip.
    pub pins: &'static str,
    /// The path of the file that contains the pins.
    pub file: &'static str,
}

impl Wheels {
    /// Returns the directory of the packages below the target directory, and downloads them if
    /// necessary. The inner error is the reason for skipping.
    ///
    /// # Errors
    ///
    /// Fails if a package differs from the pinned one, or if the downloaded files cannot be moved
    /// to their directory.
    pub fn obtain(self, target: &Path) -> Result<Result<PathBuf, String>, TaskError> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Ok(Err(format!("the {} are pinned only for Linux on x86-64", self.name)));
        }
        // Different pins use a different directory.
        let name = format!("{}-{}", self.name, short_sum(self.pins));
        let directory = target.join("xtask").join(name);
        if !directory.is_dir() {
            if let Err(why) = self.download(&directory)? {
                return Ok(Err(why));
            }
        }
        Ok(Ok(directory))
    }

    /// Runs pip to unpack the packages next to the directory. The directory is only created when
    /// they are complete.
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
            // Another run of this task may have created the directory first.
            if !directory.is_dir() {
                return Err(error.into());
            }
        }
        Ok(Ok(()))
    }

    /// Returns the reason why pip did not provide the packages.
    ///
    /// # Errors
    ///
    /// Fails if pip provided a package that differs from the pinned one.
    fn refusal(self, said: &str) -> Result<String, TaskError> {
        if said.contains(MISMATCH) {
            return Err(format!(
                "one of the {} differs from the pin in {}:\n{said}",
                self.name, self.file
            )
            .into());
        }
        let reason = said.lines().rev().find(|line| !line.trim().is_empty());
        Ok(format!(
            "pip cannot obtain the {}: {}",
            self.name,
            reason.unwrap_or("no reason is given")
        ))
    }
}

/// Returns the first 48 bits of a text's SHA-256 sum.
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
