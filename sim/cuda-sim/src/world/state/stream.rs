//! Streams: queues of operations, and what each operation has to wait for.

use std::collections::VecDeque;

use super::capture::Membership;
use super::clock::Clock;
use super::launch::GraphRun;
use super::position::Position;
use super::work::Unit;

/// Which streams it waits for without being told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The legacy default stream: for all blocking ones, and they for it.
    Legacy,
    /// The default stream of a thread: a blocking one.
    PerThread,
    Blocking,
    NonBlocking,
}

/// What waits in a queue.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) number: u64,
    pub(crate) what: &'static str,
    pub(crate) after: Vec<Position>,
    /// What is known to be done when it begins.
    pub(crate) clock: Clock,
    pub(crate) body: Body,
}

/// What an operation does.
#[derive(Debug)]
pub(crate) enum Body {
    Unit(Unit),
    Graph(Box<GraphRun>),
}

impl Body {
    /// Kernels in it, whose accesses are not known yet.
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
    /// How many operations have entered it, and how many are done.
    pub(crate) submitted: u64,
    pub(crate) completed: u64,
    /// A thread runs a host function of it just now.
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
