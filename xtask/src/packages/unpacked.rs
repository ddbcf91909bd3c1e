//! The packages, unpacked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::TaskError;
use tasks::workspace::Workspace;

/// The directories of unpacked packages, by crate name.
pub(super) type Unpacked = BTreeMap<&'static str, PathBuf>;

/// Unpacks the packages that cargo has created for a workspace.
pub(super) fn unpack(
    workspace: &Workspace,
    names: &[&'static str],
    directory: &Path,
) -> Result<Unpacked, TaskError> {
    let mut unpacked = Unpacked::new();
    for &name in names {
        let version = workspace.version_of(name).ok_or_else(|| format!("no crate {name}"))?;
        let package = format!("{name}-{version}");
        let file = workspace.target_directory.join("package").join(format!("{package}.crate"));
        let bytes = File::open(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        tar::Archive::new(GzDecoder::new(bytes)).unpack(directory)?;
        unpacked.insert(name, fs::canonicalize(directory.join(package))?);
    }
    Ok(unpacked)
}
