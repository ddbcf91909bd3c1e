//! Cargo's build artifacts, and the tests that a program lists.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::TaskError;

/// A target that cargo has built or found up to date.
#[derive(Clone, Debug, Deserialize)]
pub struct Artifact {
    /// The manifest of the target's crate.
    pub manifest_path: PathBuf,
    /// All files that the target consists of.
    pub filenames: Vec<PathBuf>,
    /// The program, if the target is a program.
    pub executable: Option<PathBuf>,
    /// The target as described in the manifest.
    pub target: Target,
    /// How the target was built.
    pub profile: Profile,
}

/// A target as described in a manifest.
#[derive(Clone, Debug, Deserialize)]
pub struct Target {
    /// The name of the target.
    pub name: String,
    kind: Vec<String>,
}

/// How a target was built.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Profile {
    /// `true` for a test or bench, and `false` for a dependency of a test or bench.
    pub test: bool,
}

/// A message that cargo prints.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact(Artifact),
    #[serde(other)]
    Other,
}

impl Artifact {
    /// Returns `true` if the crate's directory has this name, with or without the project's prefix.
    pub fn is_of(&self, crate_name: &str) -> bool {
        let directory = self.manifest_path.parent().and_then(Path::file_name);
        let names = [Some(crate_name), crate_name.strip_prefix("pool-")];
        directory.is_some_and(|directory| names.into_iter().flatten().any(|name| directory == name))
    }
}

impl Target {
    /// Returns `true` if the target has this kind: `bin`, `bench`, `cdylib` or another kind from
    /// manifests.
    #[must_use]
    pub fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|own| own == kind)
    }
}

/// Returns a cargo command, without the variables that the cargo running this task has set.
///
/// `CARGO` names the cargo that started this task, which may belong to another toolchain. The
/// version of the CUDA bindings is set in `.cargo/config.toml`.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.env_remove("CARGO").env_remove("CUDARC_CUDA_VERSION");
    cargo
}

/// Returns the path of an installed program.
#[must_use]
pub fn installed(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(&name)).find(|file| file.is_file())
}

/// Runs a cargo command that builds.
///
/// # Errors
///
/// Fails if something does not build, or if cargo's messages cannot be parsed.
pub fn build(cargo: &mut Command) -> Result<Vec<Artifact>, TaskError> {
    artifacts(&output(cargo.args(["--message-format", "json-render-diagnostics"]))?)
}

fn artifacts(messages: &[u8]) -> Result<Vec<Artifact>, TaskError> {
    let mut artifacts = Vec::new();
    for line in std::str::from_utf8(messages)?.lines() {
        if let Message::CompilerArtifact(artifact) = serde_json::from_str(line)? {
            artifacts.push(artifact);
        }
    }
    Ok(artifacts)
}

/// Returns the library of the simulated driver, if it was built together with the rest.
#[must_use]
pub fn simulator_of(artifacts: &[Artifact]) -> Option<PathBuf> {
    let is_it =
        |artifact: &&Artifact| artifact.target.name == "cuda_sim" && artifact.target.is("cdylib");
    // The library's unit tests are an artifact of the same target, and cargo may list them first.
    let mut files = artifacts.iter().filter(is_it).flat_map(|artifact| &artifact.filenames);
    files.find(|file| file.extension().is_some_and(|extension| extension == "so")).cloned()
}

/// Returns the ignored tests of a program.
///
/// # Errors
///
/// Fails if the program does not list its tests.
pub fn ignored_tests(program: &Path) -> Result<Vec<String>, TaskError> {
    listed(program, &["--list", "--ignored", "--format", "terse"])
}

/// Returns all tests of a program.
///
/// # Errors
///
/// Fails if the program does not list its tests.
pub fn tests(program: &Path) -> Result<Vec<String>, TaskError> {
    listed(program, &["--list", "--format", "terse"])
}

fn listed(program: &Path, list: &[&str]) -> Result<Vec<String>, TaskError> {
    Ok(names(std::str::from_utf8(&output(Command::new(program).args(list))?)?))
}

fn names(listed: &str) -> Vec<String> {
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Runs a command and returns its standard output. Its standard error goes to this process's
/// standard error.
///
/// # Errors
///
/// Fails if the command cannot be started, or if it does not succeed.
pub fn output(command: &mut Command) -> Result<Vec<u8>, TaskError> {
    let answer = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !answer.status.success() {
        return Err(format!("{command:?} ended with {}", answer.status).into());
    }
    Ok(answer.stdout)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{artifacts, names, simulator_of};

    #[test]
    fn a_list_gives_its_tests() {
        let listed = "order::missing_join: test\nspeed: benchmark\nfaults::nth: test\n";
        assert_eq!(names(listed), ["order::missing_join", "faults::nth"]);
    }

    #[test]
    fn artifacts_are_found_among_other_messages() {
        let messages = br#"{"reason":"build-script-executed","package_id":"p"}
{"reason":"compiler-artifact","package_id":"p","manifest_path":"/w/a/Cargo.toml","target":{"kind":["bench"],"name":"axpy"},"profile":{"opt_level":"3","test":true},"features":[],"filenames":["/t/axpy-1"],"executable":"/t/axpy-1","fresh":false}
{"reason":"build-finished","success":true}
"#;
        let artifacts = artifacts(messages).unwrap();
        assert_eq!(artifacts.len(), 1);
        let [artifact] = &artifacts[..] else { panic!("one artifact") };
        assert!(artifact.target.is("bench") && !artifact.target.is("bin") && artifact.profile.test);
        assert_eq!(artifact.executable.as_deref(), Some(Path::new("/t/axpy-1")));
        assert!(super::artifacts(b"warning: no JSON\n").is_err());
    }

    #[test]
    fn the_simulator_is_found_behind_its_unit_tests() {
        let messages = br#"{"reason":"compiler-artifact","manifest_path":"/w/s/Cargo.toml","target":{"kind":["cdylib"],"name":"cuda_sim"},"profile":{"test":true},"filenames":["/t/cuda_sim-1"],"executable":"/t/cuda_sim-1"}
{"reason":"compiler-artifact","manifest_path":"/w/s/Cargo.toml","target":{"kind":["cdylib"],"name":"cuda_sim"},"profile":{"test":false},"filenames":["/t/libcuda_sim.so"],"executable":null}
"#;
        let artifacts = artifacts(messages).unwrap();
        assert_eq!(simulator_of(&artifacts).as_deref(), Some(Path::new("/t/libcuda_sim.so")));
        assert_eq!(simulator_of(&artifacts[..1]), None);
    }
}
