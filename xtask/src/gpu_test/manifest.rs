//! What an archive says about itself: where it comes from, and how many tests must run.

use std::fmt;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::programs::Programs;
use crate::TaskError;
use crate::programs::output;

/// The manifest; the script reads single lines of its JSON.
#[derive(Debug, Serialize)]
pub(super) struct Manifest {
    commit: String,
    /// Whether the working tree differed from the commit.
    dirty: bool,
    rustc: String,
    /// Those that the driver's bindings were built with.
    cudarc_features: Vec<String>,
    /// How many tests need a device, in all programs.
    gpu_tests: usize,
    programs: Vec<Entry>,
}

/// A program of the archive.
#[derive(Debug, Serialize)]
struct Entry {
    purpose: &'static str,
    path: String,
    sha256: String,
    tests: usize,
}

/// The part of `cargo metadata` that tells features.
#[derive(Debug, Deserialize)]
struct Metadata {
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    features: Vec<String>,
}

impl Manifest {
    /// Asks git, rustc and cargo.
    ///
    /// # Errors
    ///
    /// When one of them cannot be asked.
    pub(super) fn of(programs: &Programs, metadata: &[u8]) -> Result<Self, TaskError> {
        let entry = |program: &super::programs::Program| Entry {
            purpose: program.purpose.name(),
            path: program.path.display().to_string(),
            sha256: program.sha256.clone(),
            tests: program.gpu_tests,
        };
        Ok(Self {
            commit: said("git", &["rev-parse", "HEAD"])?,
            dirty: !said("git", &["status", "--porcelain"])?.is_empty(),
            rustc: said("rustc", &["--version"])?,
            cudarc_features: cudarc_features(metadata)?,
            gpu_tests: programs.gpu_tests(),
            programs: programs.0.iter().map(entry).collect(),
        })
    }

    /// As it stands in the archive: one field a line.
    pub(super) fn json(&self) -> Result<String, TaskError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// For the person who packs.
impl fmt::Display for Manifest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dirty = if self.dirty { ", with changes" } else { "" };
        writeln!(formatter, "commit {}{dirty}", self.commit)?;
        writeln!(formatter, "{}, cudarc with {}", self.rustc, self.cudarc_features.join(", "))?;
        for program in &self.programs {
            let Entry { purpose, path, sha256, tests } = program;
            writeln!(formatter, "{purpose:5}  {sha256}  {path}  {tests} GPU tests")?;
        }
        write!(formatter, "{} GPU tests", self.gpu_tests)
    }
}

fn said(program: &str, arguments: &[&str]) -> Result<String, TaskError> {
    Ok(String::from_utf8(output(Command::new(program).args(arguments))?)?.trim().to_owned())
}

fn cudarc_features(metadata: &[u8]) -> Result<Vec<String>, TaskError> {
    let metadata: Metadata = serde_json::from_slice(metadata)?;
    let is_cudarc = |node: &&Node| node.id.contains("#cudarc@") || node.id.starts_with("cudarc ");
    let node = metadata.resolve.nodes.iter().find(is_cudarc);
    Ok(node.ok_or("cargo metadata does not name cudarc")?.features.clone())
}

#[cfg(test)]
mod tests {
    use super::{Manifest, cudarc_features};

    #[test]
    fn the_script_finds_its_lines() {
        let manifest = Manifest {
            commit: "c0ffee".to_owned(),
            dirty: true,
            rustc: "rustc 1.95.0".to_owned(),
            cudarc_features: vec!["cuda-13000".to_owned()],
            gpu_tests: 58,
            programs: Vec::new(),
        };
        let json = manifest.json().unwrap();
        for line in ["  \"commit\": \"c0ffee\",", "  \"dirty\": true,", "  \"gpu_tests\": 58,"] {
            assert!(json.lines().any(|found| found == line), "{json}");
        }
        assert!(manifest.to_string().contains("c0ffee, with changes"));
    }

    #[test]
    fn features_are_those_of_cudarc() {
        let metadata = br#"{"resolve": {"nodes": [
            {"id": "registry+https://example.org#libloading@0.8.9", "features": ["x"]},
            {"id": "registry+https://example.org#cudarc@0.19.10", "features": ["driver"]}
        ]}}"#;
        assert_eq!(cudarc_features(metadata).unwrap(), ["driver"]);
        assert!(cudarc_features(br#"{"resolve": {"nodes": []}}"#).is_err());
    }
}
