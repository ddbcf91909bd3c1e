//! The input of a launch, the memory that it can access, and its outcome.

use std::ops::Range;
use std::sync::Arc;

use super::printed::Printed;
use crate::code::Code;
use crate::ptx::Program;
use crate::report::Mistake;

/// A kernel, together with all inputs of its launch.
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
    /// The output of the threads, ordered by block and thread.
    pub(crate) printed: Vec<Printed>,
    /// Messages of the driver about failed assertions, with one line for each failing thread.
    pub(crate) messages: Vec<String>,
    /// The error that ended the launch and made its context unusable.
    pub(crate) fault: Option<Code>,
    pub(crate) touched: Vec<Touched>,
    /// The number of instructions that the warps executed.
    pub(crate) steps: u64,
}

/// The byte ranges of a memory block that a launch has read, and those that it has written.
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
    /// The memory block that contains the bytes.
    pub(crate) block: usize,
}

/// A description of an invalid access.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub(crate) mistake: Mistake,
    pub(crate) text: String,
}

/// The global memory that a launch can access.
pub(crate) trait GlobalMemory {
    /// Returns the allocation that contains all of these bytes.
    fn around(&mut self, address: u64, bytes: usize) -> Result<Extent, Wrong>;
    /// Lends the bytes of a memory block to the launch.
    fn take(&mut self, block: usize) -> Vec<u8>;
    /// Receives the bytes back from the launch.
    fn give(&mut self, block: usize, bytes: Vec<u8>);
}

/// The reason why a launch ends early.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) mistake: Mistake,
    pub(super) text: String,
}
