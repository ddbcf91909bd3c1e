//! Builds the programs and the simulator with the same sanitizer.

use std::process::Command;

use tasks::TaskError;
use tasks::workspace::{self, Workspace};

/// A sanitizer that rustc's nightly toolchain provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sanitizer {
    /// Detects invalid accesses.
    Address,
    /// Detects data races.
    Thread,
}

/// The target for which sanitizers have been available longest.
const TARGET: &str = "x86_64-unknown-linux-gnu";

impl Sanitizer {
    /// Makes cargo build with the sanitizer, in a separate build directory.
    ///
    /// # Errors
    ///
    /// Fails if cargo does not report its build directory.
    pub(super) fn prepare(self, cargo: &mut Command) -> Result<(), TaskError> {
        let workspace: Workspace = workspace::describe()?;
        let name = match self {
            Self::Address => "address",
            Self::Thread => "thread",
        };
        let directory = workspace.target_directory.join(format!("xtask/sim-{name}-sanitizer"));
        // The library finds the sanitizer's functions in the program that loads the library.
        let exported = "-Clink-arg=-rdynamic -Zexport-executable-symbols";
        cargo.arg("+nightly").env("CARGO_TARGET_DIR", directory).env("CARGO_BUILD_TARGET", TARGET);
        cargo.env("RUSTFLAGS", format!("-Zsanitizer={name} {exported}"));
        if self == Self::Thread {
            // If the standard library is not built with the sanitizer, its threads and locks look
            // like races.
            cargo.env("CARGO_UNSTABLE_BUILD_STD", "std");
        }
        Ok(())
    }
}
