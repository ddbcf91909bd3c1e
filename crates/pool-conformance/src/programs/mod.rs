//! Random programs that use a pool. Each program is checked against a naive model.
//!
//! A [`LexicalProgram`] nests scopes, helper functions, panics, early returns, trims, and failing
//! allocations in a `Pool`. A [`DynamicProgram`] calls `acquire`, `checkpoint`, `rewind`, and
//! `split` on a `DynamicPool`. The interpreter uses one Rust stack frame per scope to hold that
//! scope's views. The model records every live view's byte range and contents. The interpreter
//! continually checks that live views do not overlap, that their contents are intact, and that all
//! limits are respected. The interpreter also checks that the counts of active slots, bytes, and
//! growths match the model and the backend. After each program, the interpreter checks that
//! dropping each pool has freed all of its blocks.
//!
//! With a host backend, programs also use elements of any `Copy` type, uninitialized memory,
//! vectors, and slices that outlive their scope. Elements with padding leave behind uninitialized
//! bytes in a block. Later reads of these bytes must return zeros.
//!
//! A program is plain data. The [`strategy`] module generates random programs that can be shrunk. A
//! test can also run a handwritten program.

mod account;
mod acquire;
mod checks;
mod contents;
mod dynamic;
mod entry;
mod family;
mod frame;
mod host_tally;
mod hosted;
mod keeping;
mod lexical;
mod machine;
mod model;
mod naming;
mod program;
pub mod strategy;
mod tally;

pub use host_tally::HostTally;
pub use program::{
    Acquire, DynamicProgram, DynamicStep, Fill, Form, Impossible, Keep, LexicalProgram, Nested,
    Round, Setting, Step, Style,
};
pub use tally::Tally;

use std::cell::Cell;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::panics::{catch_quietly, text};
use crate::probe::{BackendProbe, Watching};
use machine::Machine;

/// Returns the number of random programs that a property test runs. The `POOL_TEST_CASES`
/// environment variable sets the number of random programs. By default, a property test runs 2,000
/// random programs, or 25 under Miri. In a browser, where environment variables do not exist, a
/// property test runs 200 random programs.
///
/// # Panics
///
/// Panics if the environment variable is not a number.
#[must_use]
pub fn test_cases() -> u32 {
    let cases = if cfg!(miri) {
        25
    } else if cfg!(target_family = "wasm") {
        200
    } else {
        2_000
    };
    number("POOL_TEST_CASES").unwrap_or(cases)
}

fn number(variable: &str) -> Option<u32> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

/// Returns the test runner that generates the programs for a property test. The generated programs
/// are the same in every run. Set the `POOL_TEST_SEED` environment variable to another value to
/// select different programs.
#[must_use]
pub fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    // The XorShift generator is the simplest generator that `proptest` provides. A more capable
    // generator, such as one with splittable streams, would take several seconds under Miri.
    let mut seed = *b"pool test cases.";
    seed[..4].copy_from_slice(&number("POOL_TEST_SEED").unwrap_or(0).to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::XorShift, &seed))
}

/// Runs `test` with `cases` random values. If the test fails, the function shrinks the first value
/// that fails.
///
/// # Panics
///
/// Panics if `test` panics. The panic message contains the test's message and the smallest failing
/// value that was found.
pub fn for_all<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(S::Value)) {
    let outcome = runner(cases).run(strategy, |value| {
        // During shrinking, the test fails many times. After shrinking, only the failure with the
        // smallest value is printed.
        catch_quietly(|| test(value))
            .map_err(|payload| TestCaseError::fail(text(payload.as_ref()).to_owned()))
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Runs `cases` random lexical programs, each with its own probe.
///
/// # Panics
///
/// Panics if the pool and the model disagree.
pub fn run_random_lexical<P: BackendProbe>(cases: u32, probe: impl Fn() -> P) -> Tally {
    let sum = Cell::new(Tally::default());
    for_all(cases, &strategy::lexical_program(true), |program| {
        let mut tally = sum.get();
        tally += run_lexical(&probe(), &program);
        sum.set(tally);
    });
    sum.get()
}

/// Runs `cases` random dynamic programs, each with its own probe.
///
/// # Panics
///
/// Panics if the pool and the model disagree.
pub fn run_random_dynamic<P: BackendProbe>(cases: u32, probe: impl Fn() -> P) -> Tally {
    let sum = Cell::new(Tally::default());
    for_all(cases, &strategy::dynamic_program(true), |program| {
        let mut tally = sum.get();
        tally += run_dynamic(&probe(), &program);
        sum.set(tally);
    });
    sum.get()
}

/// Runs one lexical program.
///
/// # Panics
///
/// Panics if the pool and the model disagree.
pub fn run_lexical<P: BackendProbe>(probe: &P, program: &LexicalProgram) -> Tally {
    let tally = Machine::new(probe).run_lexical(program);
    assert_all_freed(probe);
    tally
}

/// Runs one dynamic program.
///
/// # Panics
///
/// Panics if the pool and the model disagree.
pub fn run_dynamic<P: BackendProbe>(probe: &P, program: &DynamicProgram) -> Tally {
    let tally = Machine::new(probe).run_dynamic(program);
    assert_all_freed(probe);
    tally
}

fn assert_all_freed<P: BackendProbe>(probe: &P) {
    if let Some(held) = probe.held() {
        assert_eq!((held.blocks, held.bytes), (0, 0), "blocks left after the pool was dropped");
        assert_eq!(held.returning, 0, "blocks whose memory is not back");
    }
    probe.assert_no_fault();
}
