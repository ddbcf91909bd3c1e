//! Programs and simulator built with a sanitizer, both with the same one.

use std::process::Command;

use tasks::TaskError;
use tasks::workspace::{self, Workspace};

/// A sanitizer of rustc's nightly toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sanitizer {
    /// Invalid accesses.
    Address,
    /// Data races.
    Thread,
}

/// The target that has had sanitizers longest.
const TARGET: &str = "x86_64-unknown-linux-gnu";

impl Sanitizer {
    /// Lets cargo build with it, in a directory of its own.
    ///
    /// # Errors
    ///
    /// Fails if cargo does not report its directory.
    pub(super) fn prepare(self, cargo: &mut Command) -> Result<(), TaskError> {
        let workspace: Workspace = workspace::describe()?;
        let name = match self {
            Self::Address => "address",
            Self::Thread => "thread",
        };
        let directory = workspace.target_directory.join(format!("xtask/sim-{name}-sanitizer"));
        // The library finds the sanitizer's functions in the program that opens it.
        let exported = "-Clink-arg=-rdynamic -Zexport-executable-symbols";
        cargo.arg("+nightly").env("CARGO_TARGET_DIR", directory).env("CARGO_BUILD_TARGET", TARGET);
        cargo.env("RUSTFLAGS", format!("-Zsanitizer={name} {exported}"));
        if self == Self::Thread {
            // Threads and locks of a standard library without it would look racy.
            cargo.env("CARGO_UNSTABLE_BUILD_STD", "std");
        }
        Ok(())
    }
}
