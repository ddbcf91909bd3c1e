//! State of libraries and their kernels.

use crate::ptx;

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) lives: bool,
    pub(in crate::world) text: String,
    pub(in crate::world) module: ptx::Module,
    /// Its module on each device that has needed it.
    pub(in crate::world) instances: Vec<usize>,
    /// Its kernels, in order.
    pub(in crate::world) kernels: Vec<usize>,
}

/// A kernel of a library.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) library: usize,
    pub(crate) name: String,
}
