//! A gate in a stream. Later work waits until the host opens the gate.
//!
//! A question uses a gate to keep work pending reliably, and to detect whether a call waited for
//! that work. If the call waited, the gate has been passed when the call returns. A gate opens by
//! itself after a time limit, so a call that waits does not wait forever.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The time after which a closed gate opens by itself.
const PATIENCE: Duration = Duration::from_millis(300);

/// A gate that streams wait at. It is closed at first.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    passed: bool,
}

impl Gate {
    /// Returns a closed gate. It lives until the process ends, because a stream may reach it at any
    /// time.
    #[must_use]
    pub fn closed() -> &'static Self {
        Box::leak(Box::default())
    }

    /// Opens the gate.
    pub fn open(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open = true;
        self.opened.notify_all();
    }

    /// Returns `true` if a stream has passed the gate.
    #[must_use]
    pub fn was_passed(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).passed
    }

    /// Blocks the stream until the gate opens or the time limit expires.
    pub(crate) fn pass(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = |state: &mut State| !state.open;
        let waited = self.opened.wait_timeout_while(state, PATIENCE, closed);
        waited.unwrap_or_else(PoisonError::into_inner).0.passed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;

    #[test]
    fn an_open_gate_is_passed() {
        let gate = Gate::closed();
        let passing = std::thread::spawn(|| gate.pass());
        assert!(!gate.was_passed());
        gate.open();
        passing.join().unwrap();
        assert!(gate.was_passed());
    }

    #[test]
    fn a_closed_gate_gives_in_at_last() {
        let gate = Gate::closed();
        gate.pass();
        assert!(gate.was_passed());
    }
}
