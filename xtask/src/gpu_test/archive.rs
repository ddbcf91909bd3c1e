//! The archive: a tar file under gzip, which any system can unpack.
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
use tar::{Builder, EntryType, Header};

use super::manifest::Manifest;
use super::programs::{Program, Programs};
use super::{Place, nextest};
use crate::TaskError;

/// Writes it.
///
/// # Errors
///
/// When a file cannot be read or written.
pub(super) fn write(
    file: &Path,
    place: &Place,
    programs: &Programs,
    manifest: &Manifest,
    runnable: Option<&[u8]>,
    metadata: &[u8],
) -> Result<(), TaskError> {
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut archive = Builder::new(GzEncoder::new(File::create(file)?, Compression::best()));
    add(&mut archive, "manifest.json", manifest.json()?.as_bytes(), 0o644)?;
    add(&mut archive, "binaries.tsv", table(programs).as_bytes(), 0o644)?;
    let root = std::fs::read(place.root.join("Cargo.toml"))?;
    add(&mut archive, "workspace/Cargo.toml", &root, 0o644)?;
    for program in &programs.0 {
        add(&mut archive, &program.path, &std::fs::read(&program.built)?, 0o755)?;
        let package = program.package.join("Cargo.toml");
        let text = std::fs::read(place.root.join(&package))?;
        add(&mut archive, Path::new("workspace").join(package), &text, 0o644)?;
    }
    if let Some(description) = runnable {
        add(&mut archive, "nextest/binaries-metadata.json", description, 0o644)?;
        add(&mut archive, "nextest/cargo-metadata.json", metadata, 0o644)?;
        add(&mut archive, "nextest/nextest.toml", nextest::CONFIGURATION.as_bytes(), 0o644)?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

/// One line a program, for the script.
fn table(programs: &Programs) -> String {
    let line = |program: &Program| {
        let (package, path) = (program.package.display(), program.path.display());
        format!("{}\t{package}\t{}\t{path}\n", program.purpose.name(), program.sha256)
    };
    programs.0.iter().map(line).collect()
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
    // Every time the same: what was built decides the bytes, and nothing else.
    header.set_mtime(0);
    archive.append_data(&mut header, path, bytes)?;
    Ok(())
}
