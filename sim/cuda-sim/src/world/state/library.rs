//! Libraries: modules that belong to no context. On each device that needs one it becomes a module there.

use crate::ptx;

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) lives: bool,
    pub(in crate::world) text: String,
    pub(in crate::world) module: ptx::Module,
    /// What it is on each device that has needed it.
    pub(in crate::world) instances: Vec<usize>,
    /// Its kernels, in their order.
    pub(in crate::world) kernels: Vec<usize>,
}

/// A kernel of a library.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) library: usize,
    pub(crate) name: String,
}
