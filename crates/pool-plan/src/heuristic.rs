//! The textbook heuristics by name. A plan can be compared with them, and the planner reports which
//! of them it did not try.

use std::fmt;

/// A textbook greedy heuristic. It places the buffers one by one, in a certain order. Each buffer
/// is placed in a free range between the buffers that it may not share bytes with, or above these
/// buffers.
///
/// Ties in the order are broken by the buffers' starts, and then by their positions in the problem.
/// In problems of up to 4,096 buffers, a second plan breaks the last ties by name. For an interval
/// problem at tolerance 1 without a capacity, no plan is worse than the plan of any heuristic,
/// except those listed in [`Plan::untried`](crate::Plan::untried).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GreedyHeuristic {
    /// The order in which buffers are placed.
    pub order: GreedyOrder,
    /// The rule that selects one of the free ranges.
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
    /// The buffer that is live for the longest time, not counting its gaps, comes first. In a
    /// graph, the lifetime is replaced by the number of buffers that the buffer may not share bytes
    /// with.
    Lifetime,
    /// The buffer that starts first comes first. In a graph, the start is the position of the alloc
    /// marker in an order of the operations.
    Start,
    /// The buffer with the most conflicts comes first. A conflict is another buffer that it may not
    /// share bytes with. If buffers have gaps, each pair of live spans that overlap counts as a
    /// conflict.
    Conflicts,
    /// The buffer that ends last comes first. This is the order of starts, backwards in time.
    End,
    /// Starts with the time at which the most bytes are live, and places the largest buffer that is
    /// live then first (greedy by breadth, as in `TFLite`).
    Breadth,
}

/// The rule that selects one of the free ranges that are large enough.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum GreedyFit {
    /// Selects the lowest range.
    First,
    /// Selects the smallest range, and the lowest of several equally small ones.
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
