//! State of kernel launches: parameters, visible memory, and position.

use std::sync::Arc;

use super::clock::Clock;
use super::memory::{Region, Regions};
use super::position::Position;
use crate::kernel::Launch;

/// A kernel with its parameters, launched on a stream or by a node.
#[derive(Clone, Debug)]
pub(crate) struct KernelCall {
    pub(crate) function: usize,
    pub(crate) launch: Arc<Launch>,
}

/// A launch that waits in a queue. It sees the addresses that were valid when it was submitted.
#[derive(Debug)]
pub(crate) struct ReadyKernel {
    pub(in crate::world) launch: Arc<Launch>,
    pub(in crate::world) regions: Arc<Regions>,
    /// Regions that are only visible to this node, because its graph allocates them.
    pub(in crate::world) visible: Vec<Region>,
}

/// The extents of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
}

/// The position at which a kernel runs.
#[derive(Clone, Debug)]
pub(crate) struct KernelPlace {
    pub(crate) position: Position,
    pub(crate) node: Option<usize>,
    /// The clock when the kernel begins.
    pub(crate) clock: Clock,
}

impl PartialEq for KernelCall {
    fn eq(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.launch, &other.launch);
        self.function == other.function
            && mine.grid == theirs.grid
            && mine.block == theirs.block
            && mine.dynamic_shared == theirs.dynamic_shared
            && mine.parameters == theirs.parameters
    }
}

impl ReadyKernel {
    pub(crate) fn new(launch: &Arc<Launch>, regions: Arc<Regions>, visible: &[Region]) -> Self {
        Self { launch: Arc::clone(launch), regions, visible: visible.to_vec() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.launch.program.name
    }
}
