//! Runs work on another thread, which Ctrl-C stops.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The interval between two checks for an interrupt of Python.
const INTERVAL: Duration = Duration::from_millis(20);

/// Runs `work` on another thread, without the interpreter's lock. If Python is interrupted, calls
/// `cancel`, waits for the result of `work`, and drops it.
///
/// # Errors
/// Fails if Python was interrupted, or if the thread ended without a result.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
    cancel: impl Fn(),
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(1);
        // The receiver is dropped only after an interrupt.
        let worker = scope.spawn(move || drop(sender.send(work())));
        let receiver = std::sync::Mutex::new(receiver);
        loop {
            let next = || {
                let receiver = receiver.lock().map_err(|_| RecvTimeoutError::Disconnected)?;
                receiver.recv_timeout(INTERVAL)
            };
            match py.detach(next) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The panic ends here, and does not propagate further.
                    let _ = py.detach(|| worker.join().is_err());
                    return Err(PyRuntimeError::new_err(
                        "this is a bug in pool-plan; please report it: the planner's thread ended \
                         early",
                    ));
                }
            }
            if let Err(interrupt) = py.check_signals() {
                cancel();
                // The lock is not held while the thread ends.
                py.detach(|| {
                    if let Ok(receiver) = receiver.lock() {
                        drop(receiver.recv());
                    }
                });
                return Err(interrupt);
            }
        }
    })
}
