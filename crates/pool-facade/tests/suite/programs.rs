//! Small programs that the compiler of this test run checks, offline, with the versions of the workspace's lock file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

/// A program, and the features of this crate with which it is built.
pub(crate) struct Program<'a> {
    pub(crate) name: &'a str,
    pub(crate) features: &'a str,
    pub(crate) source: &'a str,
}

/// The manifest of the programs: it forwards the features that they are built with.
const MANIFEST: &str = r#"
[package]
name = "diagnostics"
version = "0.0.0"
edition = "2024"
publish = false

[features]
cpu = ["pool-facade/cpu"]
ndarray = ["cpu", "pool-facade/ndarray"]

[dependencies.pool-facade]
path = "FACADE"
default-features = false

[workspace]
"#;

/// The package that the programs are in, written once.
fn package() -> PathBuf {
    static WRITTEN: Once = Once::new();
    let facade = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diagnostics");
    WRITTEN.call_once(|| {
        let programs = package.join("src/bin");
        std::fs::create_dir_all(&programs).unwrap();
        let manifest = MANIFEST.replace("FACADE", &facade.display().to_string().replace('\\', "/"));
        std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
        std::fs::copy(facade.join("../../Cargo.lock"), package.join("Cargo.lock")).unwrap();
        // Cargo wants one program that is always there.
        std::fs::write(programs.join("empty.rs"), "fn main() {}\n").unwrap();
    });
    package
}

/// Returns `true` if the compiler accepts a program, and the compiler's output.
pub(crate) fn check(program: &Program<'_>) -> (bool, String) {
    let package = package();
    let file = package.join("src/bin").join(format!("{}.rs", program.name));
    std::fs::write(&file, program.source).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["check", "--quiet", "--offline", "--color", "never", "--bin", program.name])
        .args(["--features", program.features])
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", package.join("target"))
        // Flags of this test's own build, such as a sanitizer's, are not for the programs.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[track_caller]
pub(crate) fn accepted(program: &Program<'_>) {
    let (accepted, said) = check(program);
    assert!(accepted, "{} is right, but: {said}", program.name);
}

#[track_caller]
pub(crate) fn refused(program: &Program<'_>, texts: &[&str]) {
    let (accepted, said) = check(program);
    assert!(!accepted, "{} must not compile", program.name);
    for text in texts {
        assert!(said.contains(text), "{}: no {text:?} in:\n{said}", program.name);
    }
}
