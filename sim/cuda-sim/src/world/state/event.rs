//! State of events.

use super::clock::Clock;
use super::position::Position;

/// A place in a stream, and the clock there.
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
    /// Counts the records, so that only the last one sets the time.
    pub(crate) record: u64,
    /// The time of the last record, in nanoseconds of the simulated device.
    pub(crate) time: Option<u64>,
}

/// The place that an event marks.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    Never,
    At(Moment),
    /// The ends of a capture's branch.
    Captured(usize, Vec<usize>),
}
