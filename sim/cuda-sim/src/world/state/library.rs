//! State of libraries and their kernels.

use crate::ptx;

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) lives: bool,
    pub(in crate::world) text: String,
    pub(in crate::world) module: ptx::Module,
    /// Its module on each device that has used the library.
    pub(in crate::world) instances: Vec<usize>,
    /// The library's kernels, in order.
    pub(in crate::world) kernels: Vec<usize>,
}

/// A kernel of a library.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) library: usize,
    pub(crate) name: String,
}
