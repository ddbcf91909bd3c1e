//! State of events.

use super::clock::Clock;
use super::position::Position;

/// A position in a stream, and the clock at that position.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) position: Position,
    pub(crate) clock: Clock,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) device: usize,
    pub(crate) lives: bool,
    pub(crate) timed: bool,
    pub(crate) mark: Mark,
    /// The number of records, so that only the last record sets the time.
    pub(crate) record: u64,
    /// The time of the last record, in nanoseconds of simulated device time.
    pub(crate) time: Option<u64>,
}

/// The position that an event has recorded.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    Never,
    At(Moment),
    /// The last nodes of a branch of a capture.
    Captured(usize, Vec<usize>),
}
