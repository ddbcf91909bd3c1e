//! The textbook heuristics and their names. Each heuristic's plan can be compared with the
//! planner's plan. The planner reports which heuristics it did not try.

use std::fmt;

/// A textbook greedy heuristic, which places the buffers one by one in a fixed order. Each buffer
/// is placed in a free range between the buffers with which it must not share bytes, or above all
/// of them.
///
/// Ties in the order are broken by the buffers' starts, then by their positions in the problem. For
/// problems with up to 4,096 buffers, a second plan breaks the last ties by name instead of by
/// position. For an interval problem with a tolerance of 1 and no capacity, the plan is at least as
/// good as every heuristic's plan. This guarantee does not cover the heuristics listed in
/// [`Plan::untried`](crate::Plan::untried).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GreedyHeuristic {
    /// The order in which the buffers are placed.
    pub order: GreedyOrder,
    /// The rule that selects one of the free ranges for a buffer.
    pub fit: GreedyFit,
}

/// The order of the buffers in a greedy heuristic.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum GreedyOrder {
    /// The largest buffer comes first.
    Size,
    /// The buffer with the largest product of size and lifetime comes first.
    Area,
    /// The buffer that is live for the longest time, not counting its gaps, comes first. In a
    /// graph, buffers have no lifetimes, so the buffer with the most conflicts comes first.
    Lifetime,
    /// The buffer that starts first comes first. In a graph, a buffer starts at the position of its
    /// alloc marker in a topological order of the operations.
    Start,
    /// The buffer with the most conflicts comes first. Two buffers conflict if they must not share
    /// bytes. If buffers have gaps, each pair of overlapping live spans counts as a conflict.
    Conflicts,
    /// The buffer that ends last comes first. Ordering by end is the same as ordering by start with
    /// time reversed.
    End,
    /// The buffers that are live at the time with the most live bytes come first, in descending
    /// order of size. `TFLite` calls this order greedy by breadth.
    Breadth,
}

/// The rule that selects a free range for a buffer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum GreedyFit {
    /// Selects the lowest range.
    First,
    /// Selects the smallest range. If several ranges are equally small, the rule selects the lowest
    /// one.
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
