//! Launches of kernels: checked when they are asked for, run in their stream's order, and their
//! accesses compared with all others once they have run.

use std::sync::Arc;

use super::clock::Clock;
use super::memory::{Region, Regions};
use super::position::Position;
use crate::kernel::Launch;

/// A kernel with its parameters, as a stream or a node has it.
#[derive(Clone, Debug)]
pub(crate) struct KernelCall {
    pub(crate) function: usize,
    pub(crate) launch: Arc<Launch>,
}

/// A launch that waits: it sees the addresses that were good when it was submitted.
#[derive(Debug)]
pub(crate) struct ReadyKernel {
    pub(in crate::world) launch: Arc<Launch>,
    pub(in crate::world) regions: Arc<Regions>,
    /// Regions that only this node knows, of its graph.
    pub(in crate::world) visible: Vec<Region>,
}

/// Extents of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
}

/// Where a kernel runs.
#[derive(Clone, Debug)]
pub(crate) struct KernelPlace {
    pub(crate) position: Position,
    pub(crate) node: Option<usize>,
    /// What is known to be done when it begins.
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
