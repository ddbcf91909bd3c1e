//! Why a layout is not right for a graph.

use thiserror::Error;

/// What the verifier found. Regions are named by their index, nodes by their number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutViolation {
    /// Two regions share bytes, and the graph does not finish with the one before it begins with the
    /// other.
    #[error(
        "regions #{first} and #{second} share bytes, and no edges of full completion lead from all uses of the \
         one to the other"
    )]
    Unordered {
        /// The region of lower index.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// A node accesses bytes of the arena that are no region's at that time.
    #[error(
        "node {node} accesses {bytes} bytes at offset {offset} of the arena, which are no region's at that time"
    )]
    StrayAccess {
        /// The node.
        node: usize,
        /// Where the access begins in the arena.
        offset: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// A node was named that the graph does not have.
    #[error("there is no node {node}: the graph has {nodes}")]
    UnknownNode {
        /// The node.
        node: usize,
        /// How many the graph has.
        nodes: usize,
    },
    /// A region ends beyond what an offset can say.
    #[error("region #{region} does not end: {bytes} bytes at offset {offset}")]
    Overflow {
        /// The region.
        region: usize,
        /// Where it begins.
        offset: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// The edges form a circle.
    #[error("the edges form a circle")]
    Circle,
}
