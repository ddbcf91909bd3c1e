//! The textbook heuristics, by name: a plan can be compared with them, and a budget may end before
//! them.

use std::fmt;

/// A textbook greedy heuristic. It places buffers in an order. Each goes into a free range of addresses between those
/// that it may not share bytes with, or on top of them.
///
/// Ties of the order are broken by the buffers' starts, and then by their places in the problem. In
/// problems of up to 4,096 buffers, they are also broken by names instead. For an interval problem
/// at tolerance 1 without a capacity, no plan is worse than that of any heuristic, unless
/// [`Plan::untried`](crate::Plan::untried) names it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GreedyHeuristic {
    /// The order in which buffers are placed.
    pub order: GreedyOrder,
    /// The rule by which a free range is taken.
    pub fit: GreedyFit,
}

/// The order in which a greedy heuristic places buffers.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum GreedyOrder {
    /// The largest buffer comes first.
    Size,
    /// The buffer with the largest product of size and lifetime comes first.
    Area,
    /// The buffer that is live for the longest time, without its gaps, comes first. In a graph, the
    /// number of buffers that it may not share bytes with stands for its lifetime.
    Lifetime,
    /// The buffer that is live first comes first. In a graph, the alloc marker's place in an order
    /// of operations stands for its start.
    Start,
    /// The buffer with the most conflicts comes first: others that it may not share bytes with. A
    /// buffer with gaps counts the live spans of others that each of its own live spans meets.
    Conflicts,
    /// The buffer that is live last comes first: the order of starts, backwards in time.
    End,
    /// The time with the most live bytes comes first, and at it the largest buffer (greedy by
    /// breadth, as in `TFLite`).
    Breadth,
}

/// The rule by which a greedy heuristic takes one of the free ranges that are large enough.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum GreedyFit {
    /// The lowest range is taken.
    First,
    /// The smallest range is taken, and the lowest of several equal ones.
    Best,
}

impl GreedyHeuristic {
    /// All fourteen heuristics.
    pub const ALL: [Self; 14] = {
        use GreedyFit::{Best, First};
        use GreedyOrder::{Area, Breadth, Conflicts, End, Lifetime, Size, Start};
        [
            Self::new(Size, First),
            Self::new(Size, Best),
            Self::new(Area, First),
            Self::new(Area, Best),
            Self::new(Lifetime, First),
            Self::new(Lifetime, Best),
            Self::new(Start, First),
            Self::new(Start, Best),
            Self::new(Conflicts, First),
            Self::new(Conflicts, Best),
            Self::new(End, First),
            Self::new(End, Best),
            Self::new(Breadth, First),
            Self::new(Breadth, Best),
        ]
    };

    const fn new(order: GreedyOrder, fit: GreedyFit) -> Self {
        Self { order, fit }
    }
}

impl fmt::Display for GreedyHeuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            GreedyOrder::Size => "size",
            GreedyOrder::Area => "area",
            GreedyOrder::Lifetime => "lifetime",
            GreedyOrder::Start => "start",
            GreedyOrder::Conflicts => "conflicts",
            GreedyOrder::End => "end",
            GreedyOrder::Breadth => "breadth",
        };
        let fit = match self.fit {
            GreedyFit::First => "first fit",
            GreedyFit::Best => "best fit",
        };
        write!(f, "{order}, {fit}")
    }
}
