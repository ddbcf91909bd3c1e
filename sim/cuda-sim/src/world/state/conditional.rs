//! State of conditional nodes and their conditions.

/// The kinds of conditional nodes, with CUDA's numbers.
pub(in crate::world) const IF: u32 = 0;

pub(in crate::world) const WHILE: u32 = 1;

pub(in crate::world) const SWITCH: u32 = 2;

/// The condition that selects which body runs. It belongs to one graph and one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub(in crate::world) graph: usize,
    pub(in crate::world) is_taken: bool,
}

/// The parameters of a conditional node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) condition: u64,
    pub(crate) kind: u32,
    /// The number of bodies that the node creates.
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
