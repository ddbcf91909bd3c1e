//! State of kernel launches: parameters, visible memory, place.

use std::sync::Arc;

use super::clock::Clock;
use super::memory::{Region, Regions};
use super::position::Position;
use crate::kernel::Launch;

/// A kernel with its parameters, in a stream or a node.
#[derive(Clone, Debug)]
pub(crate) struct KernelCall {
    pub(crate) function: usize,
    pub(crate) launch: Arc<Launch>,
}

/// A launch that waits. It sees the addresses that were valid at its submission.
#[derive(Debug)]
pub(crate) struct ReadyKernel {
    pub(in crate::world) launch: Arc<Launch>,
    pub(in crate::world) regions: Arc<Regions>,
    /// Regions that only this node sees: those of its graph.
    pub(in crate::world) visible: Vec<Region>,
}

/// Extents of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
}

/// The place in which a kernel runs.
#[derive(Clone, Debug)]
pub(crate) struct KernelPlace {
    pub(crate) position: Position,
    pub(crate) node: Option<usize>,
    /// The clock at its beginning.
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
