//! The control interface for Rust programs that link the simulator, without a detour through C.

use std::sync::TryLockError;
use std::thread;
use std::time::{Duration, Instant};

use super::calls::calls;
use super::faults::plan_faults;
use super::session::{self, Session, lock, real_host};
use super::{background, control, environment, unmodelled};
use crate::settings::{Fault, Settings};
use crate::world::Step;

/// The pause between attempts to take a lock while another thread holds it.
const GLANCE: Duration = Duration::from_millis(1);

/// Mistakes that the simulator found in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// Races, stale accesses and other mistakes, with one line for each: `race: …`, `use after
    /// free: …`.
    pub reports: Vec<String>,
    /// Objects that were created and not freed, with one line for each.
    pub leaks: Vec<String>,
}

/// Returns the names and addresses of all functions: the driver's calls under their CUDA names, and
/// the calls of the C control interface. The addresses are valid in this program.
///
/// Code that calls such an address calls a C function, and must follow the rules that CUDA
/// documents for that call.
pub fn symbols() -> impl Iterator<Item = (&'static str, *const ())> {
    let refused = unmodelled::CALLS.iter().chain(control::CALLS);
    calls().chain(refused).map(|call| (call.name(), call.address()))
}

/// Restarts the simulator: all earlier handles and addresses become invalid, and reports and logs
/// are emptied.
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

/// Restarts the random generator with another seed. Only the order of asynchronous work changes.
pub fn draw_anew(seed: u64) {
    lock().draw_anew(seed);
}

/// Makes one call fail. The call is counted from now.
pub fn fail_call(fault: &Fault) {
    plan_faults(&mut lock(), std::slice::from_ref(fault));
}

/// Returns the mistakes found so far, with one line for each distinct mistake.
#[must_use]
pub fn reports() -> Vec<String> {
    lines(&lock().reports.text())
}

/// Returns the objects that were created so far and not freed, with one line for each.
#[must_use]
pub fn leaks() -> Vec<String> {
    lines(&lock().leaks())
}

/// Discards the reports collected so far.
pub fn forget_reports() {
    lock().reports.clear();
}

/// Returns `true` if the driver's `cuInit` has been called.
#[must_use]
pub fn is_initialized() -> bool {
    lock().device_count().is_ok()
}

/// Runs pending work and returns the findings. Host functions do not run, nor does work that is
/// ordered after them.
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
