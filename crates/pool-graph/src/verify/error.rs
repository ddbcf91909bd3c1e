//! The verifier's errors.

use thiserror::Error;

/// The verifier's finding. Regions are identified by their index, nodes by their number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutViolation {
    /// Two regions share bytes, and the graph does not finish with one region before it begins with
    /// the other.
    #[error(
        "regions #{first} and #{second} share bytes, but no edges of full completion order all \
         uses of one region before the uses of the other"
    )]
    Unordered {
        /// The index of the first region, which is lower than `second`.
        first: usize,
        /// The index of the second region.
        second: usize,
    },
    /// A node accesses bytes of the arena that belong to no region at that time.
    #[error(
        "node {node} accesses {bytes} bytes at offset {offset} of the arena, which belong to no \
         region at that time"
    )]
    StrayAccess {
        /// The number of the node.
        node: usize,
        /// The offset of the access in the arena.
        offset: u64,
        /// The size of the access in bytes.
        bytes: u64,
    },
    /// The layout names a node that is not in the graph.
    #[error("there is no node {node}: the graph has {nodes} nodes, numbered from 0")]
    UnknownNode {
        /// The number of the node.
        node: usize,
        /// The number of nodes in the graph.
        nodes: usize,
    },
    /// A region ends beyond the largest offset.
    #[error("region #{region} ends beyond the largest offset: {bytes} bytes at offset {offset}")]
    Overflow {
        /// The index of the region.
        region: usize,
        /// The offset of the region in the arena.
        offset: u64,
        /// The size of the region in bytes.
        bytes: u64,
    },
    /// The edges form a cycle.
    #[error("the edges form a cycle")]
    Circle,
}
