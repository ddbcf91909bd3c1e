//! Random programs over a pool, run against a naive model.
//!
//! A [`LexicalProgram`] nests scopes, helper functions, panics, early returns, trims and failing
//! allocations in a `Pool`; a [`DynamicProgram`] acquires, checkpoints, rewinds and splits a
//! `DynamicPool`. The interpreter keeps one Rust stack frame for each scope, with its views in it.
//! The model holds the byte range and the content of every live view. Checked all the time: no two
//! live views overlap, every content is intact, active slots, bytes and growths equal the counts of
//! the model and of the backend, limits hold, and every block is freed with its pool.
//!
//! On the host, programs also use elements of any type that is `Copy`, room without a value,
//! vectors and slices that are kept. The bytes that these leave behind in a block are zeros for
//! later reads.
//!
//! Programs are values: [`strategy`] makes random ones that shrink, and any test can run one.

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
use crate::probe::{Probe, Watching};
use machine::Machine;

/// Returns the number of random programs of a property test: the variable `POOL_TEST_CASES`, else 2,000, or 25 under
/// Miri, or 200 in a browser, which has no variables.
///
/// # Panics
///
/// If the variable is no number.
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

/// Returns the source of a property test's programs: the same at every run, and another one for
/// every value of the variable `POOL_TEST_SEED`.
#[must_use]
pub fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    // The simplest generator: a better one, whose streams split, takes Miri seconds.
    let mut seed = *b"pool test cases.";
    seed[..4].copy_from_slice(&number("POOL_TEST_SEED").unwrap_or(0).to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::XorShift, &seed))
}

/// Runs `test` with `cases` random values, and shrinks the first value for which it fails.
///
/// # Panics
///
/// If `test` panics: with its text and the smallest value found for which it does.
pub fn for_all<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(S::Value)) {
    let outcome = runner(cases).run(strategy, |value| {
        // Shrinking fails many times: only the smallest failure is printed, at the end.
        catch_quietly(|| test(value))
            .map_err(|payload| TestCaseError::fail(text(payload.as_ref()).to_owned()))
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Runs `cases` random lexical programs, each with a probe of its own.
///
/// # Panics
///
/// Panics if the pool and the model disagree.
pub fn run_random_lexical<P: Probe>(cases: u32, probe: impl Fn() -> P) -> Tally {
    let sum = Cell::new(Tally::default());
    for_all(cases, &strategy::lexical_program(true), |program| {
        let mut tally = sum.get();
        tally += run_lexical(&probe(), &program);
        sum.set(tally);
    });
    sum.get()
}

/// Runs `cases` random dynamic programs, each with a probe of its own.
///
/// # Panics
///
/// Panics if the pool and the model disagree.
pub fn run_random_dynamic<P: Probe>(cases: u32, probe: impl Fn() -> P) -> Tally {
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
pub fn run_lexical<P: Probe>(probe: &P, program: &LexicalProgram) -> Tally {
    let tally = Machine::new(probe).run_lexical(program);
    assert_all_freed(probe);
    tally
}

/// Runs one dynamic program.
///
/// # Panics
///
/// Panics if the pool and the model disagree.
pub fn run_dynamic<P: Probe>(probe: &P, program: &DynamicProgram) -> Tally {
    let tally = Machine::new(probe).run_dynamic(program);
    assert_all_freed(probe);
    tally
}

fn assert_all_freed<P: Probe>(probe: &P) {
    if let Some(held) = probe.held() {
        assert_eq!((held.blocks, held.bytes), (0, 0), "blocks left after the pool was dropped");
        assert_eq!(held.returning, 0, "blocks whose memory is not back");
    }
    probe.assert_no_fault();
}
