//! A thread that runs whatever can run, as a device does: an order that no seed gives again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::session::Session;
use crate::world::Step;

static WANTED: AtomicBool = AtomicBool::new(false);
static STARTED: AtomicBool = AtomicBool::new(false);

/// How long it sleeps where there is nothing to do.
const PAUSE: Duration = Duration::from_micros(50);

/// Lets it run or pause; answers whether there is such a thread.
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

/// One unit at a time, so that whoever calls the driver gets the lock in between.
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
