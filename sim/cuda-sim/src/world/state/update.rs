//! State of updates. An update replaces the parameters of an executable graph with those of another
//! graph of the same shape, or is refused. The simulator refuses every change that CUDA allows a
//! driver to refuse, because a program that relies on such changes only works on some drivers.
//!
//! - The number of nodes, their edges and their kinds (driver API, `cuGraphExecUpdate`).
//! - Memsets: "Changing other aspects of the memset (width, height, element size or pitch) may cause the update to be
//!   rejected", and "Zero sized operations are not supported" (`cuGraphExecMemsetNodeSetParams`).
//! - Copies: "Changing either the source or destination memory type" (`cuGraphExecUpdate`). Copies
//!   of several rows stay unchanged: "either the original or new memory operands are
//!   multidimensional" (`cuGraphExecMemcpyNodeSetParams`).
//! - Both: the device of an operand; kernels: the context of the function (`cuGraphExecUpdate`).

/// Why an executable graph refuses an update, in CUDA's terms.
#[derive(Debug)]
pub(crate) struct UpdateRefusal {
    /// `CUgraphExecUpdateResult`.
    pub(crate) result: u32,
    /// The node, or the later node of the edge; 0 if the refusal concerns no node.
    pub(crate) node: u64,
    /// The earlier node of the edge.
    pub(crate) from: u64,
}
