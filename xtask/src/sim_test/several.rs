//! As many tests at a time as there are processors; what they say comes in the order of the tests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::process::{self, Ending, Run};
use super::{Arguments, Case, Tally};
use crate::TaskError;

/// Runs all of them.
///
/// # Errors
///
/// When a process cannot be started.
pub(super) fn run(cases: &[Case<'_>], arguments: &Arguments) -> Result<Tally, TaskError> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for place in 0..thread::available_parallelism().map_or(1, usize::from) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { return };
                    let ended = one(case, place, arguments).map_err(|error| error.to_string());
                    if sender.send((number, ended)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        count(cases, receiver)
    })
}

fn one(case: &Case<'_>, place: usize, arguments: &Arguments) -> Result<Ending, TaskError> {
    let patience = Duration::from_secs(arguments.patience);
    let run = Run {
        seed: case.seed,
        background: arguments.background,
        driver_version: arguments.driver_version,
        patience,
        place,
    };
    process::run(case.program, case.test, &run)
}

/// Counts what has ended, in the order of the cases. Whoever fails to start ends the others.
fn count(
    cases: &[Case<'_>],
    ended: mpsc::Receiver<(usize, Result<Ending, String>)>,
) -> Result<Tally, TaskError> {
    let mut tally = Tally::default();
    let mut early = BTreeMap::new();
    let mut due = 0;
    for (number, ending) in ended {
        early.insert(number, ending?);
        while let Some(ending) = early.remove(&due) {
            tally.add(&cases[due], ending);
            due += 1;
        }
    }
    Ok(tally)
}
