//! Lists the kinds of resources whose frees can be deferred, and counts the deferred frees of each
//! kind.

use std::fmt;

/// A kind of resource whose free can be deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeferredFreeKind {
    /// A dropped pool's blocks, which count as one resource.
    PoolBlocks,
    /// A driver event.
    Event,
    /// One of the driver's memory pools.
    MemoryPool,
    /// Page-locked host memory.
    HostMemory,
    /// Ordinary device memory, either a chunk of a graph pool or an arena.
    DeviceMemory,
    /// A stream on which a capture has begun.
    Stream,
    /// A driver graph.
    Graph,
    /// One of the driver's executable graphs.
    Executable,
    /// Resources of a graph or a graph update that could not be freed. These resources could not be
    /// freed, because a capture was in progress or a wait for the graph's runs failed.
    GraphRuns,
    /// Memory that other code passed to a session, and values that a graph kept alive. These values
    /// include kernel modules.
    OwnedMemory,
}

impl DeferredFreeKind {
    /// Every kind of resource whose free can be deferred.
    pub const ALL: [Self; 10] = [
        Self::PoolBlocks,
        Self::Event,
        Self::MemoryPool,
        Self::HostMemory,
        Self::DeviceMemory,
        Self::Stream,
        Self::Graph,
        Self::Executable,
        Self::GraphRuns,
        Self::OwnedMemory,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::PoolBlocks => "blocks of dropped pools",
            Self::Event => "events",
            Self::MemoryPool => "memory pools",
            Self::HostMemory => "page-locked buffers",
            Self::DeviceMemory => "chunks and arenas",
            Self::Stream => "streams",
            Self::Graph => "graphs",
            Self::Executable => "executables",
            Self::GraphRuns => "dropped graphs with all they own",
            Self::OwnedMemory => "values that sessions owned",
        }
    }
}

/// The number of deferred frees of each kind, formatted as in `2 events, 1 graphs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeferredFreeCounts(pub [usize; DeferredFreeKind::ALL.len()]);

impl DeferredFreeCounts {
    /// Returns the number of deferred frees of the given kind.
    #[must_use]
    pub fn of(&self, kind: DeferredFreeKind) -> usize {
        self.0[kind as usize]
    }

    /// Returns the total number of deferred frees.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }
}

impl fmt::Display for DeferredFreeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for kind in DeferredFreeKind::ALL.into_iter().filter(|kind| self.of(*kind) > 0) {
            write!(f, "{separator}{} {}", self.of(kind), kind.name())?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("nothing") } else { Ok(()) }
    }
}
