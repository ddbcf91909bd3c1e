//! How other people's crates are built.

use std::path::Path;
use std::process::Command;

use tasks::programs::cargo;

/// Cargo, building into one directory for all, silent about what strangers' code could do better, and with one thread
/// where a crate asks rayon for them: what other threads allocate is not counted.
pub(super) fn cargo_for(made: &Path) -> Command {
    let mut cargo = cargo();
    cargo.env("CARGO_TARGET_DIR", made.join("build")).env("RUSTFLAGS", "--cap-lints=allow");
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
    cargo.env("CARGO_TERM_COLOR", "never").env("RAYON_NUM_THREADS", "1");
    cargo
}
