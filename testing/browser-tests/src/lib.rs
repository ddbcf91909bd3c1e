//! The tests of other crates' suites, as a program for a browser. The page calls one test at a
//! time, each in a separate instance, through functions of WebAssembly.

#![cfg(target_arch = "wasm32")]

mod flaws;
mod host;
mod report;
pub mod runner;
mod waiting;

pub(crate) use report::say;
// The copies use paths from the root of the crate.
#[allow(clippy::wildcard_imports, reason = "the suites")]
use suites::*;

#[allow(
    warnings,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "these are copies; the originals are linted"
)]
mod suites {
    use crate::runner::{Test, check};

    include!(concat!(env!("OUT_DIR"), "/tests.rs"));
}
