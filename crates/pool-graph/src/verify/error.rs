//! The verifier's errors.

use thiserror::Error;

/// The verifier's finding. Regions are named by their index, nodes by their number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutViolation {
    /// Two regions share bytes, and the graph does not finish with one before it begins with the
    /// other.
    #[error(
        "regions #{first} and #{second} share bytes, and no edges of full completion lead from all uses of the \
         one to the other"
    )]
    Unordered {
        /// The region of lower index.
        first: usize,
        /// The other region.
        second: usize,
    },
    /// A node accesses bytes of the arena that belong to no region at that time.
    #[error(
        "node {node} accesses {bytes} bytes at offset {offset} of the arena, which belong to no region at that time"
    )]
    StrayAccess {
        /// The node.
        node: usize,
        /// The start of the access in the arena.
        offset: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// The layout names a node that the graph does not have.
    #[error("there is no node {node}: the graph has {nodes}")]
    UnknownNode {
        /// The node.
        node: usize,
        /// The number of the graph's nodes.
        nodes: usize,
    },
    /// A region ends beyond the largest offset.
    #[error("region #{region} ends beyond the largest offset: {bytes} bytes at offset {offset}")]
    Overflow {
        /// The region.
        region: usize,
        /// The start of the region.
        offset: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// The edges form a circle.
    #[error("the edges form a circle")]
    Circle,
}
