//! The manifest of an archive: where it comes from, what a machine needs to run it, and the tests
//! that must run.

use std::fmt;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::needs::Needs;
use super::programs::{Build, Packed};
use crate::TaskError;
use tasks::programs::output;

/// The manifest. The script reads single lines of its JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The commit, or `unknown` if git fails, for example because the sources have no history.
    commit: String,
    /// `true` if the working tree differs from the commit, or if this is not known.
    dirty: bool,
    rustc: String,
    /// The profile with which the programs were built.
    profile: String,
    /// The features with which the driver's bindings were built.
    cudarc_features: Vec<String>,
    #[serde(flatten)]
    pub(crate) needs: Needs,
    /// The number of tests in all programs that need a device.
    pub(crate) gpu_tests: usize,
    pub(crate) programs: Vec<Entry>,
}

/// A program in the archive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) purpose: String,
    pub(crate) path: String,
    pub(crate) sha256: String,
    /// The tests of the program that need a device.
    pub(crate) tests: Vec<String>,
}

/// The part of the output of `cargo metadata` that contains the features.
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
    /// Collects the manifest from git, rustc and cargo.
    ///
    /// # Errors
    ///
    /// Fails if rustc or cargo fails, or if the requirements of the programs cannot be read.
    pub(super) fn of(packed: &[Packed], metadata: &[u8], build: Build) -> Result<Self, TaskError> {
        let cudarc_features = cudarc_features(metadata)?;
        let commit = said("git", &["rev-parse", "HEAD"]).ok();
        let changes = said("git", &["status", "--porcelain"]).ok();
        let manifest = Self {
            commit: commit.unwrap_or_else(|| "unknown".to_owned()),
            dirty: changes.is_none_or(|changes| !changes.is_empty()),
            rustc: said("rustc", &["--version"])?,
            profile: build.profile().to_owned(),
            needs: Needs::of(packed)?,
            cudarc_features,
            gpu_tests: 0,
            programs: Vec::new(),
        };
        Ok(manifest.with_programs(packed))
    }

    /// Returns the same manifest for these programs.
    pub(crate) fn with_programs(self, packed: &[Packed]) -> Self {
        let entry = |one: &Packed| Entry {
            purpose: one.program.purpose.name().to_owned(),
            path: one.program.path.display().to_string(),
            sha256: one.sha256.clone(),
            tests: one.program.tests.clone(),
        };
        let gpu_tests = packed.iter().map(|one| one.program.tests.len()).sum();
        Self { gpu_tests, programs: packed.iter().map(entry).collect(), ..self }
    }

    /// Returns the text that the archive contains, with one field on each line.
    pub(super) fn json(&self) -> Result<String, TaskError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns every test as the name of its program and its own name.
    pub(crate) fn tests(&self) -> impl Iterator<Item = (&str, &str)> {
        self.programs.iter().flat_map(|entry| {
            let program = entry.program();
            entry.tests.iter().map(move |test| (program, test.as_str()))
        })
    }
}

impl Entry {
    /// Returns the file name of the program.
    pub(crate) fn program(&self) -> &str {
        let name = Path::new(&self.path).file_name().and_then(|name| name.to_str());
        name.unwrap_or(&self.path)
    }
}

/// Formats the manifest for the person who creates the archive.
impl fmt::Display for Manifest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dirty = if self.dirty { ", with changes" } else { "" };
        writeln!(formatter, "commit {}{dirty}", self.commit)?;
        writeln!(formatter, "{}, cudarc with {}", self.rustc, self.cudarc_features.join(", "))?;
        writeln!(formatter, "{}", self.needs)?;
        for program in &self.programs {
            let Entry { purpose, path, sha256, tests } = program;
            writeln!(formatter, "{purpose:5}  {sha256}  {path}  {} GPU tests", tests.len())?;
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
    Ok(node.ok_or("cargo metadata does not list cudarc")?.features.clone())
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Entry, Manifest, cudarc_features};

    /// Returns a manifest of one program that contains every field that the script reads.
    pub(in crate::gpu_test) fn manifest(entry: Entry) -> Manifest {
        let needs = r#"{"needs_processor": "x86_64", "needs_glibc": "2.34",
                        "needs_driver": "13.0", "needs_capability": "7.5"}"#;
        Manifest {
            commit: "c0ffee".to_owned(),
            dirty: true,
            rustc: "rustc 1.95.0".to_owned(),
            profile: "gpu".to_owned(),
            cudarc_features: vec!["driver".to_owned()],
            needs: serde_json::from_str(needs).unwrap(),
            gpu_tests: entry.tests.len(),
            programs: vec![entry],
        }
    }

    fn one() -> Manifest {
        manifest(Entry {
            purpose: "test".to_owned(),
            path: "target/gpu/deps/suite-1".to_owned(),
            sha256: "00".to_owned(),
            tests: vec!["a::b".to_owned()],
        })
    }

    #[test]
    fn the_script_finds_its_lines() {
        let json = one().json().unwrap();
        let lines = [
            "  \"commit\": \"c0ffee\",",
            "  \"dirty\": true,",
            "  \"needs_processor\": \"x86_64\",",
            "  \"needs_glibc\": \"2.34\",",
            "  \"needs_driver\": \"13.0\",",
            "  \"needs_capability\": \"7.5\",",
            "  \"gpu_tests\": 1,",
        ];
        for line in lines {
            assert!(json.lines().any(|found| found == line), "{json}");
        }
        assert!(one().to_string().contains("c0ffee, with changes"));
    }

    #[test]
    fn it_reads_back_with_the_names_of_its_tests() {
        let read: Manifest = serde_json::from_str(&one().json().unwrap()).unwrap();
        assert_eq!(read.needs, one().needs);
        assert_eq!(read.tests().collect::<Vec<_>>(), [("suite-1", "a::b")]);
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
