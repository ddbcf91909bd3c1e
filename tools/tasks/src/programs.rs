//! The artifacts that cargo reports, and the ignored tests of a program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::TaskError;

/// A target that cargo has built, or found built.
#[derive(Clone, Debug, Deserialize)]
pub struct Artifact {
    /// The manifest of its crate.
    pub manifest_path: PathBuf,
    /// All files that it consists of.
    pub filenames: Vec<PathBuf>,
    /// The program, if it is one.
    pub executable: Option<PathBuf>,
    /// Its target in the manifest.
    pub target: Target,
    /// The way it was built.
    pub profile: Profile,
}

/// A target as the manifest has it.
#[derive(Clone, Debug, Deserialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    kind: Vec<String>,
}

/// The profile of the build.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Profile {
    /// True for a test or bench, false for a dependency of one.
    pub test: bool,
}

/// A line that cargo prints.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact(Artifact),
    #[serde(other)]
    Other,
}

impl Artifact {
    /// Returns true if its crate is in the directory of this name, with or without the project's name before it.
    pub fn is_of(&self, crate_name: &str) -> bool {
        let directory = self.manifest_path.parent().and_then(Path::file_name);
        let names = [Some(crate_name), crate_name.strip_prefix("pool-")];
        directory.is_some_and(|directory| names.into_iter().flatten().any(|name| directory == name))
    }
}

impl Target {
    /// Returns true for a target of this kind: `bin`, `bench`, `cdylib` or another kind of manifests.
    #[must_use]
    pub fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|own| own == kind)
    }
}

/// Cargo, without what our own run of it leaves in the environment.
///
/// `CARGO` names the cargo that started us, which may be of another toolchain, and the version of the CUDA
/// bindings is the one in `.cargo/config.toml`.
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

/// Runs a command of cargo that builds.
///
/// # Errors
///
/// Fails if it does not build, or if cargo's answer cannot be read.
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

/// The library of the simulated driver, if it was built with the rest.
#[must_use]
pub fn simulator_of(artifacts: &[Artifact]) -> Option<PathBuf> {
    let is_it =
        |artifact: &&Artifact| artifact.target.name == "cuda_sim" && artifact.target.is("cdylib");
    // Its unit tests are an artifact of the same target, which cargo may name first.
    let mut files = artifacts.iter().filter(is_it).flat_map(|artifact| &artifact.filenames);
    files.find(|file| file.extension().is_some_and(|extension| extension == "so")).cloned()
}

/// The tests of a program that are ignored unless requested.
///
/// # Errors
///
/// Fails if the program does not list them.
pub fn ignored_tests(program: &Path) -> Result<Vec<String>, TaskError> {
    listed(program, &["--list", "--ignored", "--format", "terse"])
}

/// All tests of a program.
///
/// # Errors
///
/// Fails if the program does not list them.
pub fn tests(program: &Path) -> Result<Vec<String>, TaskError> {
    listed(program, &["--list", "--format", "terse"])
}

fn listed(program: &Path, list: &[&str]) -> Result<Vec<String>, TaskError> {
    Ok(names(std::str::from_utf8(&output(Command::new(program).args(list))?)?))
}

fn names(listed: &str) -> Vec<String> {
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Runs a command, and returns its standard output. Its standard error is ours.
///
/// # Errors
///
/// Fails if it cannot be started, or if it does not end well.
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
