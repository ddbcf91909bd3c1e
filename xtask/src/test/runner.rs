//! Runs steps: their commands one after the other into a log, the long single-threaded ones side by
//! side.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use super::invocation::{Counting, Invocation};
use super::report::{self, Outcome};
use super::setting::Setting;
use super::steps::Step;
use super::tally::Tally;

/// Runs steps side by side, each on a thread of its own; their outcomes in the order of the steps.
///
/// # Errors
///
/// When a log cannot be written or cargo cannot be started.
pub(crate) fn run_together(
    steps: &[Step],
    setting: &Setting,
    logs: &Path,
) -> io::Result<Vec<Outcome>> {
    thread::scope(|scope| {
        let start = |step| scope.spawn(move || run_step(step, setting, logs));
        let running: Vec<_> = steps.iter().map(start).collect();
        let died = |_| Err(io::Error::other("the thread of a step panicked"));
        running.into_iter().map(|step| step.join().unwrap_or_else(died)).collect()
    })
}

/// Runs one step, all its commands.
fn run_step(step: &Step, setting: &Setting, logs: &Path) -> io::Result<Outcome> {
    println!("\n== {}: {}", step.name, step.about);
    let start = Instant::now();
    let (tally, note) = match (step.plan)(setting) {
        Ok(commands) => run_commands(&commands, setting, &fresh_log(logs, step.name)?)?,
        Err(reason) => (Tally::of_one_skip(), format!("SKIPPED: {reason}")),
    };
    let outcome = Outcome { name: step.name, time: start.elapsed(), tally, note };
    println!("   {}", report::line(&outcome));
    Ok(outcome)
}

/// The log of a step, emptied.
fn fresh_log(logs: &Path, step: &str) -> io::Result<PathBuf> {
    let log = logs.join(format!("{step}.log"));
    std::fs::write(&log, "")?;
    Ok(log)
}

/// Runs the commands of a step; their counts, and a note where one failed.
fn run_commands(
    commands: &[Invocation],
    setting: &Setting,
    log: &Path,
) -> io::Result<(Tally, String)> {
    let mut total = Tally::default();
    for command in commands {
        println!("   {command}");
        let (tally, output) = command.run(&setting.workspace.root, log)?;
        if tally.failed > 0 {
            println!("{}\n   failed: {command}", report::excerpt(&output));
        }
        total = total + tally;
    }
    if total.failed > 0 {
        return Ok((total, format!("see {}", log.display())));
    }
    let counts_tests = commands.iter().any(|command| command.counting() == Counting::Tests);
    if counts_tests && total == Tally::default() {
        let none = Tally::of_one_check(false);
        return Ok((none, "no test ran, so nothing was checked".to_owned()));
    }
    Ok((total, String::new()))
}
