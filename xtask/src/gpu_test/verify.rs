//! Reads an archive after it has been written, so that damage is found on this machine, and not on
//! the machine to which the archive is copied.
//!
//! The archive is unpacked in the same way as the script unpacks it. Each program must have the sum
//! that the manifest and the table contain, and must list the tests that the manifest contains.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use flate2::read::GzDecoder;

use super::manifest::{Entry, Manifest};
use super::programs::{Purpose, sha256};
use crate::TaskError;
use tasks::programs::ignored_tests;

/// Unpacks the archive into this directory, which must be empty, and checks it. Returns the
/// manifest.
///
/// # Errors
///
/// Fails if the archive cannot be unpacked, or if a file differs from the manifest. The error names
/// the file.
pub(crate) fn verify(file: &Path, directory: &Path) -> Result<Manifest, TaskError> {
    let damaged = |why: TaskError| format!("the archive {} is damaged: {why}", file.display());
    tar::Archive::new(GzDecoder::new(File::open(file)?))
        .unpack(directory)
        .map_err(|error| damaged(error.into()))?;
    Ok(check(directory).map_err(damaged)?)
}

fn check(directory: &Path) -> Result<Manifest, TaskError> {
    let text = |name: &str| {
        std::fs::read_to_string(directory.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    let manifest: Manifest = serde_json::from_str(&text("manifest.json")?)?;
    let table = text("binaries.tsv")?;
    let mut sums = sums_of(&table)?;
    for entry in &manifest.programs {
        check_program(directory, entry)?;
        if sums.remove(entry.path.as_str()) != Some(entry.sha256.as_str()) {
            return Err(format!("binaries.tsv has a different sum for {}", entry.path).into());
        }
    }
    if let Some((path, _)) = sums.first_key_value() {
        return Err(format!("binaries.tsv lists {path}, which the manifest does not name").into());
    }
    let named: usize = manifest.programs.iter().map(|entry| entry.tests.len()).sum();
    if named != manifest.gpu_tests {
        let counted = manifest.gpu_tests;
        return Err(format!("the manifest counts {counted} tests but names {named}").into());
    }
    Ok(manifest)
}

/// Returns the sums in the table by path.
fn sums_of(table: &str) -> Result<BTreeMap<&str, &str>, TaskError> {
    let mut sums = BTreeMap::new();
    for line in table.lines() {
        let [_, _, sum, path] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("binaries.tsv has an unreadable line: {line:?}").into());
        };
        sums.insert(path, sum);
    }
    Ok(sums)
}

fn check_program(directory: &Path, entry: &Entry) -> Result<(), TaskError> {
    let Entry { purpose, path, sha256: sum, tests } = entry;
    let program = directory.join(path);
    let bytes = std::fs::read(&program).map_err(|error| format!("{path}: {error}"))?;
    let found = sha256(&bytes);
    if found != *sum {
        return Err(format!("{path} has the sum {found}, but the manifest says {sum}").into());
    }
    if purpose == Purpose::Test.name() && ignored_tests(&program)? != *tests {
        let count = tests.len();
        return Err(format!("{path} does not list the {count} tests in the manifest").into());
    }
    Ok(())
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a failing test helper panics")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use flate2::Compression;

    use super::super::archive::Contents;
    use super::super::manifest::{Entry, tests::manifest};
    use super::super::programs::{Packed, Program, Purpose};
    use super::verify;

    /// Returns an archive's contents whose only test program is a script, in a workspace that
    /// contains nothing else.
    fn contents(root: &Path) -> Contents<'_> {
        fs::write(root.join("Cargo.toml"), "").unwrap();
        let built = root.join("suite");
        fs::write(&built, "#!/bin/sh\necho 'one: test'\necho 'two: test'\n").unwrap();
        fs::set_permissions(&built, fs::Permissions::from_mode(0o755)).unwrap();
        let packed = Packed::of(Program {
            purpose: Purpose::Test,
            package: "".into(),
            built,
            path: "target/suite".into(),
            tests: vec!["one".to_owned(), "two".to_owned()],
        });
        let programs = vec![packed.unwrap()];
        let none = Entry {
            purpose: String::new(),
            path: String::new(),
            sha256: String::new(),
            tests: Vec::new(),
        };
        let manifest = manifest(none).with_programs(&programs);
        let compression = Compression::fast();
        Contents { root, programs, manifest, nextest: None, compression }
    }

    /// Changes an archive's contents, and returns the error that the check reports.
    fn refusal(change: impl FnOnce(&mut Contents<'_>)) -> String {
        let directory = tempfile::tempdir().unwrap();
        let mut contents = contents(directory.path());
        change(&mut contents);
        let file = directory.path().join("a.tar.gz");
        contents.write(&file).unwrap();
        let verified = verify(&file, &directory.path().join("unpacked"));
        verified.map_or_else(|error| error.to_string(), |_| "whole".to_owned())
    }

    #[test]
    fn what_is_packed_is_what_the_manifest_says() {
        assert_eq!(refusal(|_| ()), "whole");
    }

    /// Checks the fault of the first archives: the program was rebuilt between hashing and packing.
    #[test]
    fn a_program_that_is_not_the_hashed_one_is_named() {
        let changed = refusal(|contents| contents.programs[0].bytes.push(b'\n'));
        assert!(changed.contains("target/suite has the sum"), "{changed}");
        let changed = refusal(|contents| contents.programs[0].sha256 = "00".to_owned());
        assert!(changed.contains("a different sum for target/suite"), "{changed}");
    }

    #[test]
    fn other_tests_than_those_of_the_manifest_are_refused() {
        let changed = refusal(|contents| {
            contents.manifest.programs[0].tests.pop();
        });
        assert!(changed.contains("target/suite does not list the 1 tests"), "{changed}");
        let changed = refusal(|contents| contents.manifest.gpu_tests = 3);
        assert!(changed.contains("counts 3 tests but names 2"), "{changed}");
    }

    #[test]
    fn a_program_too_many_or_too_few_is_refused() {
        let changed = refusal(|contents| contents.manifest.programs.clear());
        assert!(changed.contains("which the manifest does not name"), "{changed}");
        let changed = refusal(|contents| contents.programs.clear());
        assert!(changed.contains("target/suite"), "{changed}");
    }

    #[test]
    fn a_truncated_archive_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.tar.gz");
        contents(directory.path()).write(&file).unwrap();
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        let error = verify(&file, &directory.path().join("unpacked")).unwrap_err().to_string();
        assert!(error.contains("is damaged"), "{error}");
    }
}
