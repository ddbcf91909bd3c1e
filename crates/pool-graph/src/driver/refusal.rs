//! The driver's possible reasons for refusing to update an executable graph.

use std::fmt;

use thiserror::Error;

/// An error that states why the driver refused an update. The executable graph is unchanged.
///
/// An update may change the parameters, grid sizes, and functions of kernels, as well as the
/// addresses and values of copies and fills. The number of nodes, their kinds, and their
/// dependencies must stay the same.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash)]
#[error(
    "the graph was not updated, because {}{}: capture another graph for the new work",
    ReasonText(*reason),
    AtNode(*node)
)]
#[non_exhaustive]
pub struct UpdateRefusal {
    /// The driver's reason for refusing the update.
    pub reason: UpdateReason,
    /// The kind of the node that caused the refusal, if the driver blames a single node in the new
    /// graph.
    pub node: Option<NodeKind>,
}

/// A `CUgraphExecUpdateResult` value that reports a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UpdateReason {
    /// Either the number of nodes or one of their dependencies has changed.
    TopologyChanged,
    /// A node's kind has changed.
    NodeTypeChanged,
    /// A kernel node's function has changed, and an update cannot replace the old function with the
    /// new one.
    FunctionChanged,
    /// A parameter that must stay the same has changed.
    ParametersChanged,
    /// An attribute that must stay the same has changed.
    AttributesChanged,
    /// A node's kind or configuration does not support updates.
    NotSupported,
    /// The reason is unknown to this crate. This field contains the number that the driver uses for
    /// the reason.
    Other(u32),
}

/// The kind of a node in a CUDA graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// The node launches a kernel.
    Kernel,
    /// The node copies memory.
    Copy,
    /// The node fills memory.
    Fill,
    /// The node calls a host function.
    Host,
    /// The node runs a child graph.
    ChildGraph,
    /// The node does nothing.
    Empty,
    /// The node waits for an external event.
    Wait,
    /// The node records an external event.
    Record,
    /// The node allocates memory.
    Allocate,
    /// The node frees memory.
    Free,
    /// The node runs child graphs conditionally.
    Conditional,
    /// The node signals semaphores from another API.
    ExternalSignal,
    /// The node waits for semaphores from another API.
    ExternalWait,
    /// The node writes to words of memory or waits until those words have certain values.
    BatchMemoryOperations,
    /// The kind is unknown to this crate. The field contains the kind's `CUgraphNodeType` number.
    Other(u32),
}

impl UpdateReason {
    pub(super) fn of_driver(result: u32) -> Self {
        match result {
            2 => Self::TopologyChanged,
            3 => Self::NodeTypeChanged,
            4 | 7 => Self::FunctionChanged,
            5 => Self::ParametersChanged,
            6 => Self::NotSupported,
            8 => Self::AttributesChanged,
            other => Self::Other(other),
        }
    }
}

impl NodeKind {
    pub(super) fn of_driver(kind: u32) -> Self {
        match kind {
            0 => Self::Kernel,
            1 => Self::Copy,
            2 => Self::Fill,
            3 => Self::Host,
            4 => Self::ChildGraph,
            5 => Self::Empty,
            6 => Self::Wait,
            7 => Self::Record,
            8 => Self::ExternalSignal,
            9 => Self::ExternalWait,
            10 => Self::Allocate,
            11 => Self::Free,
            12 => Self::BatchMemoryOperations,
            13 => Self::Conditional,
            other => Self::Other(other),
        }
    }

    /// Returns `true` if the memory accesses of this kind of node are known. Either the driver
    /// reports these accesses, or the caller of [`enqueue`](crate::Capture::enqueue) is responsible
    /// for them. `docs/graphs.md` contains a table of all kinds.
    pub(super) fn tells_its_memory(self) -> bool {
        !matches!(
            self,
            Self::Conditional
                | Self::ExternalSignal
                | Self::ExternalWait
                | Self::BatchMemoryOperations
                | Self::Other(_)
        )
    }
}

/// Formats the driver's reason for refusing an update.
struct ReasonText(UpdateReason);

impl fmt::Display for ReasonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            UpdateReason::TopologyChanged => "the number of nodes or their dependencies changed",
            UpdateReason::NodeTypeChanged => "a node has another kind",
            UpdateReason::FunctionChanged => {
                "a kernel's function changed in a way that CUDA does not allow"
            }
            UpdateReason::ParametersChanged => "a parameter changed that must stay the same",
            UpdateReason::AttributesChanged => "an attribute changed that must stay the same",
            UpdateReason::NotSupported => "a node of the graph cannot be updated",
            UpdateReason::Other(result) => return write!(f, "the driver returned reason {result}"),
        })
    }
}

/// Formats the kind of the node that caused the refusal, if available.
struct AtNode(Option<NodeKind>);

impl fmt::Display for AtNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |node| write!(f, " (node of kind {node:?})"))
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeKind, UpdateReason, UpdateRefusal};

    /// This test checks that every `CUgraphNodeType` up to CUDA 13 has a name, and that newer types
    /// are formatted as numbers.
    #[test]
    fn every_kind_of_node_is_known_or_refused_by_its_number() {
        let unread = [8, 9, 12, 13];
        for number in 0..14 {
            let kind = NodeKind::of_driver(number);
            assert!(!matches!(kind, NodeKind::Other(_)), "{number}");
            assert_eq!(kind.tells_its_memory(), !unread.contains(&number), "{kind:?}");
        }
        for number in [14, 15, 99, u32::MAX] {
            let kind = NodeKind::of_driver(number);
            assert_eq!(kind, NodeKind::Other(number));
            assert!(!kind.tells_its_memory());
        }
    }

    #[test]
    fn a_refusal_names_reason_and_node() {
        let refused = UpdateRefusal {
            reason: UpdateReason::of_driver(3),
            node: Some(NodeKind::of_driver(1)),
        };
        let text = refused.to_string();
        assert!(text.contains("a node has another kind (node of kind Copy)"), "{text}");
        let unknown = UpdateRefusal { reason: UpdateReason::of_driver(99), node: None };
        assert!(unknown.to_string().contains("reason 99: capture"), "{unknown}");
    }
}
