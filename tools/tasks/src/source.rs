//! The sources of a crate in the directory where cargo unpacks them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::TaskError;
use crate::programs::cargo;

/// The fields of `cargo metadata` that this module uses.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

/// Returns the directory in which cargo has unpacked the crate, or the reason why it is not
/// available.
///
/// # Errors
///
/// Fails if the manifest that names the crate cannot be written, if cargo cannot be started, or if
/// its output cannot be parsed.
pub fn obtain(
    name: &str,
    version: &str,
    made: &Path,
) -> Result<Result<PathBuf, String>, TaskError> {
    let directory = made.join(format!("{name}-{version}")).join("source");
    fs::create_dir_all(directory.join("src"))?;
    fs::write(directory.join("src/lib.rs"), "")?;
    fs::write(directory.join("Cargo.toml"), manifest(name, version))?;
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--quiet"]).current_dir(&directory);
    let answer = metadata.stdin(Stdio::null()).output()?;
    if !answer.status.success() {
        return Ok(Err(reason(&String::from_utf8_lossy(&answer.stderr))));
    }
    let Metadata { packages } = serde_json::from_slice(&answer.stdout)?;
    let mut packages = packages.into_iter();
    let found = packages.find(|one| one.name == name && one.version == version);
    let manifest =
        found.ok_or_else(|| format!("cargo does not report the location of {name} {version}"))?;
    Ok(Ok(manifest.manifest_path.parent().unwrap_or(&manifest.manifest_path).to_owned()))
}

fn manifest(name: &str, version: &str) -> String {
    format!(
        "[package]\nname = \"source\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{name} = {{ version = \"={version}\", default-features = false }}\n"
    )
}

/// Returns cargo's error on one line, with its last cause.
#[must_use]
pub fn reason(complaint: &str) -> String {
    let mut lines = complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.find(|line| line.starts_with("error")).unwrap_or("cargo reports no reason");
    lines.next_back().map_or_else(|| first.to_owned(), |last| format!("{first}: {last}"))
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn a_reason_is_the_error_and_its_last_cause() {
        let complaint = "warning: slow\nerror: failed to get `a`\n\nCaused by:\n  no network\n";
        assert_eq!(reason(complaint), "error: failed to get `a`: no network");
        assert_eq!(reason("error: alone\n"), "error: alone");
        assert_eq!(reason(""), "cargo reports no reason");
    }
}
