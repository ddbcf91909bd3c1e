//! The reasons for which an arena has too few bytes. Each has advice of its own.

/// The reason for which an arena has too few bytes. It decides what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArenaShortage {
    /// The arena is [`Monotone`](crate::ArenaPolicy::Monotone): it never reuses bytes.
    Monotone,
    /// The arena is [`Linear`](crate::ArenaPolicy::Linear): it reuses the bytes at its top alone.
    Linear,
    /// The arena is smaller than its plan.
    SmallerThanPlan,
    /// The allocation is not in the plan, and there are too few bytes behind those of the plan.
    NotInPlan,
    /// The arena was made for another graph, whose plan needs fewer bytes.
    MadeForAnotherGraph,
    /// A scope between replays takes more than the arena of its graph has.
    IdleMemory,
}

impl ArenaShortage {
    /// The way out, as a sentence without its full stop.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Monotone => {
                "A monotone arena must hold the sum of what a capture allocates: make it of `arena_bytes()` of a probe, \
                 or plan with that probe, which needs the peak alone"
            }
            Self::Linear => {
                "A linear arena reuses bytes where views are dropped in the reverse order alone: drop views earlier, or \
                 plan with a probe of the body, which needs the peak alone"
            }
            Self::SmallerThanPlan => {
                "The arena is smaller than the plan that it is to follow: make it as large as the plan's peak"
            }
            Self::NotInPlan => {
                "The body allocates what its plan does not have: probe it again, or make an arena that has the bytes \
                 behind the plan"
            }
            Self::MadeForAnotherGraph => {
                "The arena was made for another graph and is smaller than this plan: capture the graph with the largest \
                 plan first, or plan all of them together by `probe_ladder`"
            }
            Self::IdleMemory => {
                "A scope between replays has the bytes of the graph's arena, which `idle_bytes` tells: take less at once, \
                 or use a pool of the device"
            }
        }
    }
}
