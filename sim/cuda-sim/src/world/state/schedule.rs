//! State of the scheduler: goals and steps.

use super::clock::Clock;
use super::host_call::HostCall;
use super::position::Position;

/// Operations to wait for, and the clock after they have finished.
#[derive(Clone, Debug, Default)]
pub(crate) struct Goal {
    pub(in crate::world) positions: Vec<Position>,
    pub(in crate::world) clock: Clock,
    /// The number of operations that each stream must complete. It includes dependencies.
    pub(in crate::world) needed: Option<Vec<u64>>,
}

/// The outcome of a step, or what the caller has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The goal has been reached.
    Done,
    /// A unit of work has run.
    Ran,
    /// The caller must release the lock, call the host, and then call `host_call_returned`.
    Call(usize, HostCall),
    /// Another thread is running a host function that the goal needs.
    Busy,
}

impl Goal {
    pub(crate) fn add(&mut self, position: Position, clock: &Clock) {
        self.positions.push(position);
        self.clock.join(clock);
    }
}
