//! Changes the version of a patched copy.

use std::fs;
use std::path::Path;

use tasks::TaskError;

/// Appends the patch's name to the version of a copy, as in `1.1.0+pool`. This is necessary because
/// a lock file distinguishes packages only by name and version.
///
/// # Errors
///
/// Fails if the manifest cannot be read or written, or does not contain this version.
pub(super) fn name_version(copy: &Path, version: &str, patch: &str) -> Result<(), TaskError> {
    let file = copy.join("Cargo.toml");
    let manifest = fs::read_to_string(&file)?;
    let line = format!("\nversion = \"{version}\"\n");
    if !manifest.contains(&line) {
        return Err(format!("{} has no line {:?}", file.display(), line.trim()).into());
    }
    let named = manifest.replacen(&line, &format!("\nversion = \"{version}+{patch}\"\n"), 1);
    Ok(fs::write(file, named)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::name_version;

    #[test]
    fn the_version_of_the_package_is_named_and_that_of_a_dependency_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("Cargo.toml");
        let manifest =
            "[package]\nversion = \"1.1.0\"\n\n[dependencies.other]\nversion = \"1.1.0\"\n";
        fs::write(&file, manifest).unwrap();
        name_version(directory.path(), "1.1.0", "kept").unwrap();
        let named = fs::read_to_string(&file).unwrap();
        assert_eq!(named, manifest.replacen("1.1.0", "1.1.0+kept", 1));
        assert!(name_version(directory.path(), "1.2.0", "kept").is_err());
    }
}
