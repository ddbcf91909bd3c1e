//! Determines which toolchains and components are installed.
//!
//! This never installs or updates anything. `cargo +name` may download a missing toolchain, so
//! `rustup toolchain list` is called first. `.ci/run` installs toolchains.

use std::process::{Command, Stdio};

/// The toolchains that rustup has installed. The list is empty if rustup is missing.
#[derive(Debug, Default)]
pub struct Toolchains {
    nightly: Option<Toolchain>,
    /// The installed targets of the active toolchain.
    targets: Vec<String>,
    installed: Vec<String>,
}

/// An installed toolchain.
#[derive(Debug)]
struct Toolchain {
    name: String,
    components: Vec<String>,
}

impl Toolchains {
    /// Queries rustup.
    #[must_use]
    pub fn detect() -> Self {
        let installed = first_words(&rustup(&["toolchain", "list"]));
        let nightly = newest_nightly(&installed).map(|name| Toolchain {
            components: first_words(&rustup(&[
                "component",
                "list",
                "--toolchain",
                name,
                "--installed",
            ])),
            name: name.to_owned(),
        });
        let targets = first_words(&rustup(&["target", "list", "--installed"]));
        Self { nightly, targets, installed }
    }

    /// Checks that the active toolchain can build for a target.
    ///
    /// # Errors
    ///
    /// Returns the command that adds the target.
    pub fn target(&self, name: &str) -> Result<(), String> {
        let is_installed = self.targets.iter().any(|installed| installed == name);
        is_installed.then_some(()).ok_or_else(|| {
            format!("the target {name} is not installed: run `rustup target add {name}`")
        })
    }

    /// Returns the nightly toolchain with these components.
    ///
    /// # Errors
    ///
    /// Returns the missing components, or that there is no nightly toolchain.
    pub fn nightly_with(&self, components: &[&str]) -> Result<String, String> {
        let nightly = self.nightly.as_ref().ok_or("no nightly toolchain")?;
        let missing: Vec<&str> =
            components.iter().copied().filter(|component| !nightly.has(component)).collect();
        if missing.is_empty() {
            return Ok(nightly.name.clone());
        }
        Err(format!("{} lacks {}", nightly.name, missing.join(", ")))
    }

    /// Returns the toolchain of a release such as `1.85`, in any patch version.
    ///
    /// # Errors
    ///
    /// Fails with the name of the release if it is not installed.
    pub fn release(&self, version: &str) -> Result<String, String> {
        let of_release = |name: &&String| {
            name.strip_prefix(version).is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        self.installed
            .iter()
            .find(of_release)
            .cloned()
            .ok_or_else(|| format!("toolchain {version} is not installed"))
    }
}

impl Toolchain {
    /// Returns `true` if a component is installed. `rust-src` is given by its name, and `miri` by
    /// its name and host.
    fn has(&self, component: &str) -> bool {
        self.components.iter().any(|installed| {
            installed.strip_prefix(component).is_some_and(|rest| {
                rest.is_empty() || (rest.starts_with('-') && self.name.ends_with(rest))
            })
        })
    }
}

/// Returns the nightly channel or, if it is not installed, the newest dated nightly.
fn newest_nightly(installed: &[String]) -> Option<&str> {
    let is_dated = |name: &str| name.starts_with("nightly-2");
    let nightlies = installed.iter().map(String::as_str).filter(|name| name.starts_with("nightly"));
    nightlies.max_by_key(|name| (!is_dated(name), *name))
}

/// Returns the first word of each line, because rustup appends `(active, default)` and similar
/// words.
fn first_words(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Runs rustup and returns its output, or an empty text if rustup is missing or fails.
fn rustup(arguments: &[&str]) -> String {
    let answer = Command::new("rustup").args(arguments).stdin(Stdio::null()).output();
    match answer {
        Ok(answer) if answer.status.success() => {
            String::from_utf8_lossy(&answer.stdout).into_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Toolchain, Toolchains, first_words, newest_nightly};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().copied().map(str::to_owned).collect()
    }

    fn toolchains() -> Toolchains {
        let nightly = Toolchain {
            name: "nightly-x86_64-unknown-linux-gnu".to_owned(),
            components: names(&["miri-x86_64-unknown-linux-gnu", "rust-src"]),
        };
        let installed = names(&["stable-x86_64-unknown-linux-gnu", "1.85.0-x86_64-pc-windows"]);
        Toolchains { nightly: Some(nightly), targets: names(&["wasm32"]), installed }
    }

    #[test]
    fn the_channel_comes_before_dated_nightlies() {
        let installed = names(&["nightly-2026-05-01-x86", "nightly-x86", "nightly-2025-05-01-x86"]);
        assert_eq!(newest_nightly(&installed), Some("nightly-x86"));
        assert_eq!(
            newest_nightly(&[installed[2].clone(), installed[0].clone()]),
            Some("nightly-2026-05-01-x86")
        );
        assert_eq!(newest_nightly(&names(&["stable-x86"])), None);
    }

    #[test]
    fn missing_components_are_named() {
        let toolchains = toolchains();
        assert!(toolchains.nightly_with(&["miri", "rust-src"]).is_ok());
        let refusal = toolchains.nightly_with(&["miri", "clippy", "rust"]).unwrap_err();
        assert!(refusal.ends_with("lacks clippy, rust"), "{refusal}");
        let none = Toolchains::default().nightly_with(&[]).unwrap_err();
        assert_eq!(none, "no nightly toolchain");
    }

    #[test]
    fn a_missing_target_is_named() {
        let toolchains = toolchains();
        assert!(toolchains.target("wasm32").is_ok());
        assert!(toolchains.target("wasm").unwrap_err().contains("target add wasm"));
    }

    #[test]
    fn a_release_is_found_in_any_patch_version() {
        let toolchains = toolchains();
        assert_eq!(toolchains.release("1.85").as_deref(), Ok("1.85.0-x86_64-pc-windows"));
        assert!(toolchains.release("1.8").is_err());
    }

    #[test]
    fn annotations_of_rustup_are_cut_off() {
        assert_eq!(
            first_words("stable-x86 (active, default)\n\nnightly-x86\n"),
            ["stable-x86", "nightly-x86"]
        );
    }
}
