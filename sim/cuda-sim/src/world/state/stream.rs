//! State of streams: the queued operations, and what each operation waits for.

use std::collections::VecDeque;

use super::capture::Membership;
use super::clock::Clock;
use super::launch::GraphRun;
use super::position::Position;
use super::work::Unit;

/// Which streams a stream implicitly waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The legacy default stream. It waits for all blocking streams, and all blocking streams wait
    /// for it.
    Legacy,
    /// The default stream of a thread, which is a blocking stream.
    PerThread,
    Blocking,
    NonBlocking,
}

/// An operation in a queue.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) number: u64,
    pub(crate) what: &'static str,
    pub(crate) after: Vec<Position>,
    /// The clock when the operation begins.
    pub(crate) clock: Clock,
    pub(crate) body: Body,
}

/// The work that an operation performs.
#[derive(Debug)]
pub(crate) enum Body {
    Unit(Unit),
    Graph(Box<GraphRun>),
}

impl Body {
    /// Returns the number of kernels, whose accesses are not known yet.
    pub(in crate::world) fn kernels(&self) -> usize {
        match self {
            Self::Unit(unit) => usize::from(matches!(unit, Unit::Kernel(_))),
            Self::Graph(run) => run.kernels(),
        }
    }
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) device: usize,
    pub(crate) order: Order,
    pub(crate) priority: i32,
    pub(crate) lives: bool,
    pub(crate) queue: VecDeque<Operation>,
    /// How many operations have been submitted and completed.
    pub(crate) submitted: u64,
    pub(crate) completed: u64,
    /// `true` while a thread runs one of the stream's host functions.
    pub(crate) busy: bool,
    pub(crate) clock: Clock,
    pub(crate) capture: Option<Membership>,
}

impl Stream {
    pub(crate) fn is_made_by_the_user(&self) -> bool {
        matches!(self.order, Order::Blocking | Order::NonBlocking)
    }

    pub(in crate::world) fn is_blocking(&self) -> bool {
        matches!(self.order, Order::Blocking | Order::PerThread)
    }
}
