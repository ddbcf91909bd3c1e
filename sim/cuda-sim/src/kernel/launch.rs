//! What a launch is given, what it reaches and what becomes of it.

use std::ops::Range;
use std::sync::Arc;

use super::printed::Printed;
use crate::code::Code;
use crate::ptx::Program;
use crate::report::Mistake;

/// A kernel with everything that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) program: Arc<Program>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: usize,
    pub(crate) parameters: Vec<u8>,
}

/// What became of a launch.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) reports: Vec<(Mistake, String)>,
    /// What its threads print, in the order of blocks and threads.
    pub(crate) printed: Vec<Printed>,
    /// What the kernel itself prints of assertions: a line for each thread whose assertion does not hold.
    pub(crate) messages: Vec<String>,
    /// What broke it, and its context.
    pub(crate) fault: Option<Code>,
    pub(crate) touched: Vec<Touched>,
    /// Instructions of warps.
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
    /// Whose bytes these are.
    pub(crate) block: usize,
}

/// What is wrong with an access, in words.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub(crate) mistake: Mistake,
    pub(crate) text: String,
}

/// The global memory that a launch can reach.
pub(crate) trait GlobalMemory {
    /// The allocation in which all these bytes lie.
    fn around(&mut self, address: u64, bytes: usize) -> Result<Extent, Wrong>;
    /// Lends the bytes of a block for the time of the launch.
    fn take(&mut self, block: usize) -> Vec<u8>;
    /// Takes them back.
    fn give(&mut self, block: usize, bytes: Vec<u8>);
}

/// Why a launch does not go on.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) mistake: Mistake,
    pub(super) text: String,
}
