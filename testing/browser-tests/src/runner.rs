//! The functions that the page calls: the number of tests, their names, a run of one, and its
//! report.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use pool_conformance::panics::{catch_quietly, text};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{flaws, host, report, say, suites, waiting};

/// A test.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) run: fn(),
}

/// The return type of a test.
pub(crate) trait Outcome {
    fn check(self);
}

impl Outcome for () {
    fn check(self) {}
}

impl<E: fmt::Debug> Outcome for Result<(), E> {
    #[track_caller]
    fn check(self) {
        assert!(self.is_ok(), "{self:?}");
    }
}

/// Runs a test of a suite, which may be expected to panic with a text.
#[track_caller]
pub(crate) fn check<O: Outcome>(expected_panic: Option<&str>, test: impl FnOnce() -> O) {
    let Some(expected) = expected_panic else { return test().check() };
    let Err(payload) = catch_quietly(test) else { panic!("no panic") };
    assert!(text(payload.as_ref()).contains(expected), "not \"{expected}\"");
}

fn tests() -> impl Iterator<Item = &'static Test> {
    let own = [flaws::TESTS, host::TESTS, waiting::TESTS];
    own.into_iter().chain([suites::TESTS]).flatten()
}

/// Returns the number of tests.
#[wasm_bindgen]
#[must_use]
pub fn test_count() -> usize {
    tests().count()
}

/// Returns the name of a test, or an empty string if there is none of this number.
#[wasm_bindgen]
#[must_use]
pub fn test_name(number: usize) -> String {
    tests().nth(number).map_or_else(String::new, |test| test.name.to_owned())
}

/// Returns the report of the last test, line by line.
#[wasm_bindgen]
#[must_use]
pub fn take_report() -> String {
    report::take()
}

/// Runs a test, and returns 1 if it passed. The page suspends this call, so no JavaScript function
/// may be between it and a waiting test: it is exported without a wrapper.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn run_test(number: usize) -> u32 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(Box::new(|info| say!("{info}"))));
    let Some(test) = tests().nth(number) else { return 0 };
    u32::from(panic::catch_unwind(AssertUnwindSafe(test.run)).is_ok())
}
