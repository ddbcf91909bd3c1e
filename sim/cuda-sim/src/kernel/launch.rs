//! The input of a launch, the memory that it reaches, and its outcome.

use std::ops::Range;
use std::sync::Arc;

use super::printed::Printed;
use crate::code::Code;
use crate::ptx::Program;
use crate::report::Mistake;

/// A kernel with all inputs of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) program: Arc<Program>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: usize,
    pub(crate) parameters: Vec<u8>,
}

/// The outcome of a launch.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) reports: Vec<(Mistake, String)>,
    /// Output of its threads, in the order of blocks and threads.
    pub(crate) printed: Vec<Printed>,
    /// The driver's own output for failed assertions: one line for each failing thread.
    pub(crate) messages: Vec<String>,
    /// The error that ended the launch and broke its context.
    pub(crate) fault: Option<Code>,
    pub(crate) touched: Vec<Touched>,
    /// The number of warp instructions.
    pub(crate) steps: u64,
}

/// The bytes of a block of memory that a launch has read, and those that it has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) block: usize,
    pub(crate) reads: Arc<[Range<usize>]>,
    pub(crate) writes: Arc<[Range<usize>]>,
}

/// An allocation as a kernel sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) bytes: usize,
    /// The block that owns the bytes.
    pub(crate) block: usize,
}

/// A description of an invalid access.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub(crate) mistake: Mistake,
    pub(crate) text: String,
}

/// The global memory that a launch can reach.
pub(crate) trait GlobalMemory {
    /// Returns the allocation that contains all these bytes.
    fn around(&mut self, address: u64, bytes: usize) -> Result<Extent, Wrong>;
    /// Lends the bytes of a block to the launch.
    fn take(&mut self, block: usize) -> Vec<u8>;
    /// Takes the bytes back.
    fn give(&mut self, block: usize, bytes: Vec<u8>);
}

/// The reason that ends a launch.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) mistake: Mistake,
    pub(super) text: String,
}
