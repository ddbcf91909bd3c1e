//! Events: a moment of a stream, or of a capture, that others can wait for.

use super::clock::Clock;
use super::position::Position;

/// A place in a stream, and what is known there.
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
    /// When the last record ran, in nanoseconds of the simulated device.
    pub(crate) time: Option<u64>,
}

/// What an event marks.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    Never,
    At(Moment),
    /// The ends of a capture's branch.
    Captured(usize, Vec<usize>),
}
