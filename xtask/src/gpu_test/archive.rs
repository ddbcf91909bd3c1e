//! The archive, which is a gzip-compressed tar file that any system can unpack.
//!
//! ```text
//! manifest.json            what it is
//! binaries.tsv             the programs for the script: purpose, crate, SHA-256, path
//! target/gpu/deps/…        the programs
//! workspace/…              the directories that tests are started in
//! nextest/…                what cargo-nextest must know, where it was installed
//! ```

use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tar::{Builder, EntryType, Header};

use super::manifest::Manifest;
use super::nextest;
use super::programs::Packed;
use crate::TaskError;

/// The contents of an archive.
#[derive(Clone, Debug)]
pub(crate) struct Contents<'c> {
    /// The root of the workspace, from which the manifests of crates are read.
    pub(crate) root: &'c Path,
    pub(crate) programs: Vec<Packed>,
    pub(crate) manifest: Manifest,
    /// nextest's description of the programs and cargo's description of the workspace, if nextest
    /// is installed.
    pub(crate) nextest: Option<(&'c Value, &'c [u8])>,
    pub(crate) compression: Compression,
}

impl Contents<'_> {
    /// Writes the archive.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub(crate) fn write(&self, file: &Path) -> Result<(), TaskError> {
        if let Some(directory) = file.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut archive = Builder::new(GzEncoder::new(File::create(file)?, self.compression));
        add(&mut archive, "manifest.json", self.manifest.json()?.as_bytes(), 0o644)?;
        add(&mut archive, "binaries.tsv", self.table().as_bytes(), 0o644)?;
        let root = std::fs::read(self.root.join("Cargo.toml"))?;
        add(&mut archive, "workspace/Cargo.toml", &root, 0o644)?;
        for Packed { program, bytes, .. } in &self.programs {
            add(&mut archive, &program.path, bytes, 0o755)?;
            let package = program.package.join("Cargo.toml");
            let text = std::fs::read(self.root.join(&package))?;
            add(&mut archive, Path::new("workspace").join(package), &text, 0o644)?;
        }
        if let Some((description, metadata)) = self.nextest {
            let description = nextest::description_of(description, &self.programs)?;
            add(&mut archive, "nextest/binaries-metadata.json", &description, 0o644)?;
            add(&mut archive, "nextest/cargo-metadata.json", metadata, 0o644)?;
            add(&mut archive, "nextest/nextest.toml", nextest::CONFIGURATION.as_bytes(), 0o644)?;
        }
        archive.into_inner()?.finish()?;
        Ok(())
    }

    /// Returns the table for the script, with one line for each program.
    fn table(&self) -> String {
        let line = |Packed { program, sha256, .. }: &Packed| {
            let (package, path) = (program.package.display(), program.path.display());
            format!("{}\t{package}\t{sha256}\t{path}\n", program.purpose.name())
        };
        self.programs.iter().map(line).collect()
    }
}

fn add(
    archive: &mut Builder<impl Write>,
    path: impl AsRef<Path>,
    bytes: &[u8],
    mode: u32,
) -> Result<(), TaskError> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes.len() as u64);
    header.set_mode(mode);
    // The fields are the same each time, so the bytes only depend on the built files.
    header.set_mtime(0);
    archive.append_data(&mut header, path, bytes)?;
    Ok(())
}
