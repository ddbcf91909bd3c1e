//! The errors that the verifier returns.

use thiserror::Error;

/// A violation that the verifier detected. Each region is identified by its index in the layout,
/// and each node by its number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutViolation {
    /// Two regions share bytes, but the graph might start to use one region before it has finished
    /// with the other.
    #[error(
        "regions #{first} and #{second} share bytes, but the graph does not wait for all uses of \
         one region to finish before it uses the other"
    )]
    Unordered {
        /// The index of the first region, which is lower than `second`.
        first: usize,
        /// The index of the second region.
        second: usize,
    },
    /// A node accesses arena bytes that belong to no region at that point.
    #[error(
        "node {node} accesses {bytes} bytes at offset {offset} of the arena, but no region \
         contains these bytes when the node runs"
    )]
    StrayAccess {
        /// The node's number.
        node: usize,
        /// The offset in the arena where the access starts.
        offset: u64,
        /// The size of the access in bytes.
        bytes: u64,
    },
    /// The layout refers to a node that the graph does not contain.
    #[error("there is no node {node}: the graph has {nodes} nodes, numbered from 0")]
    UnknownNode {
        /// The node's number.
        node: usize,
        /// The number of nodes in the graph.
        nodes: usize,
    },
    /// A region's end offset does not fit into a `u64`.
    #[error(
        "region #{region} has {bytes} bytes at offset {offset}, so its end exceeds the largest \
         possible offset"
    )]
    Overflow {
        /// The index of the region.
        region: usize,
        /// The offset in the arena where the region starts.
        offset: u64,
        /// The region's size in bytes.
        bytes: u64,
    },
    /// The graph's edges form a cycle.
    #[error("the graph's edges form a cycle")]
    Circle,
}
