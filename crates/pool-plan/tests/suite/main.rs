//! Tests of the planner: against brute force, on public traces, on random captures, with mutated
//! plans and bad input.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests: a check that fails panics, and their numbers are small"
)]

#[path = "../support/capture.rs"]
mod capture;
#[path = "../support/families.rs"]
mod families;
#[path = "../support/held_out.rs"]
mod held_out;
#[path = "../support/naive.rs"]
mod naive;
#[path = "../support/naive_memories.rs"]
mod naive_memories;
#[path = "../support/synthetic.rs"]
mod synthetic;
#[path = "../support/trace.rs"]
mod trace;

mod again;
mod brute;
mod budget;
mod captures;
mod errors;
mod generated;
mod hostile;
mod memories;
mod mutations;
mod optimum;
#[cfg(feature = "serde")]
mod serialized;
mod solving;
mod textbook;
mod traces;

use std::cell::Cell;
use std::fmt::Debug;

use proptest::prelude::{Strategy, TestCaseError};
use proptest::test_runner::TestRunner;

/// Returns the number of random problems for a property: `POOL_TEST_CASES`, or 1,000.
fn cases() -> u32 {
    let given = std::env::var("POOL_TEST_CASES");
    given.ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

fn config() -> proptest::test_runner::Config {
    let config = proptest::test_runner::Config::with_cases(cases());
    // No property rejects its generated problems, so every case counts.
    proptest::test_runner::Config { failure_persistence: None, max_global_rejects: 0, ..config }
}

/// Tries `check` on the number of problems that the cases give. It returns its number of real
/// checks (plans, mutations that must be refused), which must be at least `share` of it a case.
fn try_counted<P: Debug>(
    problems: impl Strategy<Value = P>,
    share: f64,
    check: impl Fn(&P) -> Result<usize, TestCaseError>,
) {
    let checked = Cell::new(0);
    let outcome = TestRunner::new(config()).run(&problems, |problem| {
        checked.set(checked.get() + check(&problem)?);
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    let needed = f64::from(cases()) * share;
    println!("{} checked in {} cases, {needed} needed", checked.get(), cases());
    assert!(f64::from(checked.get() as u32) >= needed, "only {} were checked", checked.get());
}
