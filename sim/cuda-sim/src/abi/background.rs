//! A thread that runs all work that can run, as a device does. No seed reproduces its order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::session::Session;
use crate::world::Step;

static WANTED: AtomicBool = AtomicBool::new(false);
static STARTED: AtomicBool = AtomicBool::new(false);

/// The pause after a round without work.
const PAUSE: Duration = Duration::from_micros(50);

/// Lets the thread run or pause. Returns `true` if there is such a thread.
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

/// Runs one unit at a time, so that a caller of the driver gets the lock in between.
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
