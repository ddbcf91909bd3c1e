//! Settings for building other people's crates.

use std::path::Path;
use std::process::Command;

use tasks::programs::cargo;

/// Returns a cargo command that uses one build directory for all crates and hides warnings about
/// their code. A crate that uses rayon runs with one thread, because allocations by other threads
/// are not counted.
pub(super) fn cargo_for(made: &Path) -> Command {
    let mut cargo = cargo();
    cargo.env("CARGO_TARGET_DIR", made.join("build")).env("RUSTFLAGS", "--cap-lints=allow");
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
    cargo.env("CARGO_TERM_COLOR", "never").env("RAYON_NUM_THREADS", "1");
    cargo
}
