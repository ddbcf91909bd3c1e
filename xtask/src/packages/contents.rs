//! Checks which files a package contains, and which it must not contain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::TaskError;
use tasks::checks::{Checks, same};

/// The maximum unpacked size of a package in bytes. A crate that only contains sources is smaller.
const AT_MOST: u64 = 1 << 20;

/// The files at the top level of every package next to `src`, including the files that cargo adds.
const EXPECTED: &[&str] =
    &["Cargo.lock", "Cargo.toml", "Cargo.toml.orig", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

const SOURCES: &[&str] = &["src"];
/// The simulated driver has a build script that passes the library's name to the linker.
const WITH_BUILD_SCRIPT: &[&str] = &["build.rs", "src"];

/// The file that cargo adds if the sources are under version control.
const OF_VERSION_CONTROL: &str = ".cargo_vcs_info.json";

/// Checks the files of one package.
///
/// # Errors
///
/// Fails if the package's files cannot be read.
pub(super) fn check(name: &str, package: &Path, checks: &mut Checks) -> Result<(), TaskError> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(package)? {
        found.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    found.remove(OF_VERSION_CONTROL);
    let sources = if name == "cuda-sim" { WITH_BUILD_SCRIPT } else { SOURCES };
    let expected = EXPECTED.iter().chain(sources).map(|name| (*name).to_owned()).collect();
    checks.that(
        &format!("{name} contains the sources, both licences, and a README, but no tests"),
        same(&found, &expected),
    );
    let bytes = bytes_under(package)?;
    let small = if bytes <= AT_MOST { Ok(()) } else { Err(format!("{bytes} bytes")) };
    checks.that(&format!("{name} has {bytes} bytes, of at most {AT_MOST}"), small);
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let whole = match fs::read_to_string(package.join(licence)) {
            Ok(text) if text.lines().count() > 10 => Ok(()),
            Ok(text) => Err(format!("{text:?}")),
            Err(error) => Err(error.to_string()),
        };
        checks.that(&format!("{name}: {licence} contains the text, and is not a link"), whole);
    }
    Ok(())
}

fn bytes_under(directory: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_under(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
