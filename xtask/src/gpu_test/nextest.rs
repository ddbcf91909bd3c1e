//! The files that `cargo-nextest` needs to run programs that it has not built.
//!
//! nextest's own archives are compressed with zstd, which a bare machine often lacks. nextest can
//! also run unpacked programs from their descriptions, so this archive contains the descriptions.

use std::path::PathBuf;

use serde_json::Value;

use super::programs::{Build, Packed, Purpose};
use crate::TaskError;
use tasks::programs::{cargo, installed, output};

/// The configuration for GPU tests. Tests that hang are stopped, and the report is kept.
pub(super) const CONFIGURATION: &str = "\
[profile.gpu]
slow-timeout = { period = \"60s\", terminate-after = 2 }

[profile.gpu.junit]
path = \"junit.xml\"
report-name = \"gpu-test\"
store-success-output = true
";

/// Returns the path of `cargo-nextest`.
pub(crate) fn program() -> Option<PathBuf> {
    installed("cargo-nextest")
}

/// Describes all programs in a build. Returns `None` if nextest is not installed.
///
/// # Errors
///
/// Fails if nextest fails, or if its output has an unexpected form.
pub(super) fn describe(packages: &[&str], build: Build) -> Result<Option<Value>, TaskError> {
    if program().is_none() {
        return Ok(None);
    }
    let mut list = cargo();
    list.args(["nextest", "list", "--list-type", "binaries-only"]);
    list.args(["--message-format", "json", "--cargo-quiet"]);
    list.args(build.arguments(packages, "--cargo-profile")?);
    Ok(Some(serde_json::from_slice(&output(&mut list)?)?))
}

/// Returns a description of only these programs, in the form that an archive contains.
///
/// # Errors
///
/// Fails if the description contains none of the programs.
pub(super) fn description_of(
    description: &Value,
    programs: &[Packed],
) -> Result<Vec<u8>, TaskError> {
    let mut description = description.clone();
    let tests = || programs.iter().filter(|one| one.program.purpose == Purpose::Test);
    keep(&mut description, |path| tests().any(|one| one.program.built.as_os_str() == path))?;
    Ok(serde_json::to_vec(&description)?)
}

/// Removes programs that are not packed, because nextest would look for them.
fn keep(description: &mut Value, is_packed: impl Fn(&str) -> bool) -> Result<(), TaskError> {
    let programs = description.get_mut("rust-binaries").and_then(Value::as_object_mut);
    let programs = programs.ok_or("cargo nextest lists no programs")?;
    programs.retain(|_, program| {
        program.get("binary-path").and_then(Value::as_str).is_some_and(&is_packed)
    });
    if programs.is_empty() {
        return Err("cargo nextest lists none of the packed programs".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::keep;

    #[test]
    fn only_what_is_packed_is_kept() {
        let mut description = json!({ "rust-binaries": {
            "a": { "binary-path": "/t/a" }, "b": { "binary-path": "/t/b" }
        }});
        keep(&mut description, |path| path == "/t/b").unwrap();
        assert_eq!(description, json!({ "rust-binaries": { "b": { "binary-path": "/t/b" } } }));
        assert!(keep(&mut description, |_| false).is_err());
        assert!(keep(&mut json!({}), |_| true).is_err());
    }
}
