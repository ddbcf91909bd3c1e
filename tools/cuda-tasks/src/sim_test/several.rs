//! Runs one test on each processor at a time, and prints the results in the order of the tests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use tasks::TaskError;

use super::process::{self, Ending, Run};
use super::programs::Program;

/// A test together with a seed.
#[derive(Debug)]
pub(super) struct Case<'p> {
    pub(super) program: &'p Program,
    pub(super) test: &'p str,
    pub(super) seed: u64,
}

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

/// Runs all cases.
///
/// # Errors
///
/// Fails if a process cannot be started.
pub(super) fn run(cases: &[Case<'_>], run: Run) -> Result<Tally, TaskError> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for place in 0..thread::available_parallelism().map_or(1, usize::from) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { return };
                    let ended = one(case, Run { place, ..run }).map_err(|error| error.to_string());
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

fn one(case: &Case<'_>, run: Run) -> Result<Ending, TaskError> {
    process::run(case.program, case.test, &Run { seed: case.seed, ..run })
}

/// Counts finished tests in the order of the cases. If a test cannot be started, the others are
/// stopped.
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

impl Tally {
    /// Counts a test. Prints its figures, or the reason why it failed or was skipped.
    fn add(&mut self, case: &Case<'_>, ending: Ending) {
        let name = format!("{} {}, seed {}", case.program.package, case.test, case.seed);
        match ending {
            Ending::Passed(figures) => {
                self.passed += 1;
                figures.iter().for_each(|figure| println!("{name}: {figure}"));
            }
            Ending::NotAsked(why) => {
                self.skipped += 1;
                println!("SKIPPED: {name}: {why}");
            }
            Ending::Failed(output) => {
                self.failed += 1;
                println!("FAILED: {name}\n{output}");
            }
        }
    }
}
