//! The reasons an arena might be too small, with advice for each one.

/// The reason an arena is too small. Each reason has its own [`advice`](Self::advice).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArenaShortage {
    /// The arena uses the [`Monotone`](crate::ArenaPolicy::Monotone) policy, so it never reuses
    /// bytes.
    Monotone,
    /// The arena uses the [`Linear`](crate::ArenaPolicy::Linear) policy, so it reuses bytes only if
    /// regions are deallocated in reverse allocation order.
    Linear,
    /// The arena is smaller than its plan requires.
    SmallerThanPlan,
    /// The plan does not contain the allocation, and not enough space remains after the planned
    /// bytes.
    NotInPlan,
    /// The arena was created for a different graph, which needs fewer bytes.
    MadeForAnotherGraph,
    /// A scope that runs between replays needs more bytes than the graph's arena provides.
    IdleMemory,
}

impl ArenaShortage {
    /// Returns advice for the caller, without a period at the end.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Monotone => {
                "A monotone arena must hold the sum of a capture's allocations: create the arena \
                 with the `arena_bytes()` of a probe, or plan with that probe, so that the arena \
                 needs only the peak"
            }
            Self::Linear => {
                "A linear arena reuses bytes only if views are dropped in reverse order: drop \
                 views earlier, or plan with a probe of the body, so that the arena needs only the \
                 peak"
            }
            Self::SmallerThanPlan => {
                "The arena is smaller than its plan: create an arena of at least the plan's peak"
            }
            Self::NotInPlan => {
                "An allocation of the body is not in its plan: probe the body again, or create a \
                 larger arena"
            }
            Self::MadeForAnotherGraph => {
                "The arena was created for another graph and is smaller than this plan: capture \
                 the graph with the largest plan first, or plan all graphs together with \
                 `probe_ladder`"
            }
            Self::IdleMemory => {
                "A scope between replays can use only the bytes of the graph's arena, which \
                 `idle_bytes` returns: acquire less at once, or use a device pool"
            }
        }
    }
}
