//! What a Rust program that has the simulator linked in calls: the calls of the control, without C between.

use std::sync::TryLockError;
use std::thread;
use std::time::{Duration, Instant};

use super::calls::calls;
use super::faults::plan_faults;
use super::session::{self, Session, lock, real_host};
use super::{background, control, environment, unmodelled};
use crate::settings::{Fault, Settings};
use crate::world::Step;

/// How often a lock that another thread has is tried.
const GLANCE: Duration = Duration::from_millis(1);

/// What the simulator found wrong with a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// Races, stale accesses and the other mistakes, one line each: `race: …`, `use after free: …`.
    pub reports: Vec<String>,
    /// What was made and not given back, one line each.
    pub leaks: Vec<String>,
}

/// The calls of the driver, by the names that CUDA has for them, and those by which the C interface controls it: each
/// with the address of its function in this program.
///
/// Whoever calls such an address calls a C function, and keeps to what CUDA's documentation asks of callers.
pub fn symbols() -> impl Iterator<Item = (&'static str, *const ())> {
    let refused = unmodelled::CALLS.iter().chain(control::CALLS);
    calls().chain(refused).map(|call| (call.name(), call.address()))
}

/// Starts anew: handles and addresses of before are good no more, and nothing is reported or logged.
///
/// False, and nothing happens, while a host function runs, and where no thread is to be had for the background.
#[must_use]
pub fn start_anew(settings: &Settings) -> bool {
    if !background::set(settings.background) {
        return false;
    }
    let mut world = lock();
    let Some(next) = world.next(settings.of_world(), real_host()) else {
        return false;
    };
    *world = next;
    plan_faults(&mut world, &settings.faults);
    environment::forget_refusal();
    true
}

/// Draws with another seed from now on: the order of what is asynchronous, and nothing else, changes.
pub fn draw_anew(seed: u64) {
    lock().draw_anew(seed);
}

/// Lets a call fail, counted from now.
pub fn fail_call(fault: &Fault) {
    plan_faults(&mut lock(), std::slice::from_ref(fault));
}

/// The mistakes found so far, each once, one line each.
#[must_use]
pub fn reports() -> Vec<String> {
    lines(&lock().reports.text())
}

/// What was made and not given back so far, one line each.
#[must_use]
pub fn leaks() -> Vec<String> {
    lines(&lock().leaks())
}

/// Forgets what was reported so far.
pub fn forget_reports() {
    lock().reports.clear();
}

/// Whether anything has called the driver's `cuInit`.
#[must_use]
pub fn is_initialized() -> bool {
    lock().device_count().is_ok()
}

/// Runs what is pending, but for functions of the host and what comes behind them, and answers what was found.
///
/// `None` where another thread keeps the simulator busy for longer than this time.
#[must_use]
pub fn last_findings(patience: Duration) -> Option<Findings> {
    let end = Instant::now() + patience;
    let world = loop {
        match session::try_lock() {
            Ok(world) => break world,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(GLANCE),
            Err(TryLockError::WouldBlock) => return None,
        }
    };
    let mut session = Session::with(world);
    let mut goal = session.end_of_everything();
    while session.step(&mut goal) == Step::Ran {}
    let (reports, leaks) = (lines(&session.reports.text()), lines(&session.leaks()));
    Some(Findings { reports, leaks })
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
