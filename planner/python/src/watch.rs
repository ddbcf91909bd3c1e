//! Work on another thread, which Ctrl-C ends.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The interval between two checks whether Python was interrupted.
const INTERVAL: Duration = Duration::from_millis(20);

/// Does `work` on another thread, without the interpreter's lock. If Python is interrupted, `cancel` is called, and the
/// work's result is waited for and dropped.
///
/// # Errors
/// Fails if Python was interrupted, or the thread ended without a result.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
    cancel: impl Fn(),
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(1);
        // If the receiver is gone, it was interrupted.
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
                    // A panic is taken from the thread here, and goes no further.
                    let _ = py.detach(|| worker.join().is_err());
                    return Err(PyRuntimeError::new_err("a bug in pool-plan: its thread ended"));
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
