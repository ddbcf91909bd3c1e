//! The control's calls for a Rust program that links the simulator, without C in between.

use std::sync::TryLockError;
use std::thread;
use std::time::{Duration, Instant};

use super::calls::calls;
use super::faults::plan_faults;
use super::session::{self, Session, lock, real_host};
use super::{background, control, environment, unmodelled};
use crate::settings::{Fault, Settings};
use crate::world::Step;

/// The pause between attempts to take a lock that another thread holds.
const GLANCE: Duration = Duration::from_millis(1);

/// Mistakes of a program that the simulator found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// Races, stale accesses and the other mistakes, one line each: `race: …`, `use after free: …`.
    pub reports: Vec<String>,
    /// Objects that were created and not freed, one line each.
    pub leaks: Vec<String>,
}

/// Returns the driver's calls by their names in CUDA, and the calls of the C control interface.
/// Each comes with the address of its function in this program.
///
/// A caller of such an address calls a C function. It must keep CUDA's documented rules for that
/// call.
pub fn symbols() -> impl Iterator<Item = (&'static str, *const ())> {
    let refused = unmodelled::CALLS.iter().chain(control::CALLS);
    calls().chain(refused).map(|call| (call.name(), call.address()))
}

/// Starts anew: all earlier handles and addresses become invalid; reports and logs are emptied.
///
/// Returns `false` and changes nothing while a host function runs, or if the background thread
/// cannot be started.
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

/// Draws with another seed from now on. Only the order of asynchronous work changes.
pub fn draw_anew(seed: u64) {
    lock().draw_anew(seed);
}

/// Lets one call fail, counted from now.
pub fn fail_call(fault: &Fault) {
    plan_faults(&mut lock(), std::slice::from_ref(fault));
}

/// Returns the mistakes found so far, each once, one line each.
#[must_use]
pub fn reports() -> Vec<String> {
    lines(&lock().reports.text())
}

/// Returns the objects that were created and not freed so far, one line each.
#[must_use]
pub fn leaks() -> Vec<String> {
    lines(&lock().leaks())
}

/// Forgets the reports so far.
pub fn forget_reports() {
    lock().reports.clear();
}

/// Returns `true` once the driver's `cuInit` was called.
#[must_use]
pub fn is_initialized() -> bool {
    lock().device_count().is_ok()
}

/// Runs pending work and returns the findings. Host functions, and work ordered after them, do not
/// run.
///
/// Returns `None` if another thread holds the simulator for longer than `patience`.
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
