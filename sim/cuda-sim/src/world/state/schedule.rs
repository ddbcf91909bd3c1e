//! State of the scheduler: goals and steps.

use super::clock::Clock;
use super::host_call::HostCall;
use super::position::Position;

/// Operations to wait for, and the clock after them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Goal {
    pub(in crate::world) positions: Vec<Position>,
    pub(in crate::world) clock: Clock,
    /// The number of operations that each stream must complete, dependencies included.
    pub(in crate::world) needed: Option<Vec<u64>>,
}

/// The outcome of a step, or the next duty of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The goal is reached.
    Done,
    /// Something ran.
    Ran,
    /// The caller must call the host without the lock, and then `host_call_returned`.
    Call(usize, HostCall),
    /// Another thread runs a host function that the goal needs.
    Busy,
}

impl Goal {
    pub(crate) fn add(&mut self, position: Position, clock: &Clock) {
        self.positions.push(position);
        self.clock.join(clock);
    }
}
