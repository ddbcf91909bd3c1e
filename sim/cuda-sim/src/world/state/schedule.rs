//! Who runs next: a stream drawn by the seed among those that can, until a goal is reached.

use super::clock::Clock;
use super::host_call::HostCall;
use super::position::Position;

/// Operations that somebody waits for, and what is known once they are done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Goal {
    pub(in crate::world) positions: Vec<Position>,
    pub(in crate::world) clock: Clock,
    /// For each stream how far it must come, with all that those operations wait for.
    pub(in crate::world) needed: Option<Vec<u64>>,
}

/// What a step did, or what the caller has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The goal is reached.
    Done,
    /// Something ran.
    Ran,
    /// The caller calls the host without holding the lock, and says so to `host_call_returned`.
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
