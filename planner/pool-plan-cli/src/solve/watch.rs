//! Plans with a progress bar, until Ctrl-C is pressed.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use pool_plan::{Monitor, Options, PlanError};

use crate::arguments::Solve;
use crate::output::complain;

/// The exit code that a shell reports for a process ended by an interrupt.
const INTERRUPTED: i32 = 130;

/// Plans a problem. If Ctrl-C is pressed, planning stops with the best plan so far. A second Ctrl-C
/// ends the command.
pub(super) fn solve<P>(
    arguments: &Solve,
    plan: impl FnOnce(&Options, &Monitor) -> Result<P, PlanError>,
) -> Result<P, PlanError> {
    let monitor = Arc::new(Monitor::new());
    let stopper = Arc::clone(&monitor);
    let stop = move || {
        if stopper.is_cancelled() {
            std::process::exit(INTERRUPTED);
        }
        stopper.cancel();
    };
    if let Err(error) = ctrlc::set_handler(stop) {
        complain(&format!("warning: Ctrl-C will not return the best plan so far: {error}"));
    }
    let outcome = shown(arguments, &monitor, plan);
    // After this call, Ctrl-C ends the command.
    monitor.cancel();
    outcome
}

/// Plans a problem, and shows the progress on a terminal.
fn shown<P>(
    arguments: &Solve,
    monitor: &Monitor,
    plan: impl FnOnce(&Options, &Monitor) -> Result<P, PlanError>,
) -> Result<P, PlanError> {
    let options = arguments.options();
    if !std::io::stderr().is_terminal() {
        return plan(&options, monitor);
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // If no thread can be started, there is no progress bar.
        let bar = || show(monitor, arguments.budget, &done);
        drop(std::thread::Builder::new().spawn_scoped(scope, bar));
        let outcome = plan(&options, monitor);
        done.store(true, Ordering::Release);
        outcome
    })
}

fn show(monitor: &Monitor, budget: Duration, done: &AtomicBool) {
    let length = u64::try_from(budget.as_millis()).unwrap_or(u64::MAX);
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {elapsed} {msg}") {
        bar.set_style(style);
    }
    let start = Instant::now();
    while !done.load(Ordering::Acquire) {
        let passed = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        bar.set_position(passed.min(length));
        let best = monitor.best().map_or_else(String::new, |peak| HumanBytes(peak).to_string());
        let bound = HumanBytes(monitor.bound());
        bar.set_message(format!(
            "peak {best}, bound {bound}, {} steps",
            HumanCount(monitor.steps())
        ));
        std::thread::sleep(Duration::from_millis(50));
    }
    bar.finish_and_clear();
}
