//! Conditional nodes: added to a graph by hand and read back. What they choose from are graphs of their own, which
//! live as long as the graph that the node is in. None is made executable.

/// What a conditional node does with its bodies, as CUDA numbers it.
pub(in crate::world) const IF: u32 = 0;

pub(in crate::world) const WHILE: u32 = 1;

pub(in crate::world) const SWITCH: u32 = 2;

/// What decides which body of a node is run. It is of one graph, and for one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub(in crate::world) graph: usize,
    pub(in crate::world) is_taken: bool,
}

/// What a conditional node is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) condition: u64,
    pub(crate) kind: u32,
    /// How many bodies there are to be.
    pub(crate) bodies: u32,
}

impl Choice {
    pub(in crate::world) fn is_valid(self) -> bool {
        match self.kind {
            IF => matches!(self.bodies, 1 | 2),
            WHILE => self.bodies == 1,
            SWITCH => (1..=1 << 16).contains(&self.bodies),
            _ => false,
        }
    }
}
