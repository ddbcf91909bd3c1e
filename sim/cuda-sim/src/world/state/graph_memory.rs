//! State of memory that graphs allocate.

use std::collections::BTreeMap;

use super::event::Moment;

/// An allocation that belongs to a graph.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Allocation {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) device: usize,
    /// The node that performs the allocation.
    pub(crate) node: usize,
    /// The node of the same graph that frees it, if any.
    pub(crate) free: Option<usize>,
}

/// The bytes behind addresses of graphs, which are kept between launches.
#[derive(Debug, Default)]
pub(crate) struct GraphMemory {
    pub(in crate::world) blocks: BTreeMap<u64, Physical>,
    pub(in crate::world) high: u64,
}

#[derive(Debug)]
pub(in crate::world) struct Physical {
    pub(in crate::world) block: usize,
    pub(in crate::world) device: usize,
    pub(in crate::world) len: usize,
    pub(in crate::world) last: Option<Moment>,
}
