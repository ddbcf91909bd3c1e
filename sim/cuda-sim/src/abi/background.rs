//! A thread that runs all work that is ready, like a device. No seed reproduces the order in which
//! it runs the work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::session::Session;
use crate::world::Step;

static WANTED: AtomicBool = AtomicBool::new(false);
static STARTED: AtomicBool = AtomicBool::new(false);

/// The pause after a round in which no work was ready.
const PAUSE: Duration = Duration::from_micros(50);

/// Starts or pauses the thread. Returns `false` if the thread cannot be started.
pub(super) fn set(wanted: bool) -> bool {
    WANTED.store(wanted, Ordering::SeqCst);
    if !wanted || STARTED.swap(true, Ordering::SeqCst) {
        return true;
    }
    let spawned = std::thread::Builder::new().name("cuda-sim".to_owned()).spawn(work);
    if spawned.is_err() {
        STARTED.store(false, Ordering::SeqCst);
    }
    spawned.is_ok()
}

/// Runs one unit at a time. Between two units, other callers of the driver can take the lock.
fn work() {
    loop {
        let idle = !WANTED.load(Ordering::SeqCst) || {
            let mut session = Session::of_the_device();
            let mut goal = session.end_of_everything();
            matches!(session.step_once(&mut goal), Step::Done | Step::Busy)
        };
        if idle {
            std::thread::sleep(PAUSE);
        } else {
            std::thread::yield_now();
        }
    }
}
