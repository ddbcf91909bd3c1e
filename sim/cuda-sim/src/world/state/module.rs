//! State of modules and their kernels.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ptx::Program;

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) lives: bool,
    pub(crate) device: usize,
    /// `true` if the module was loaded for a library on its device.
    pub(crate) is_of_a_library: bool,
    pub(in crate::world) functions: Vec<usize>,
    /// The address and the size of each variable.
    pub(in crate::world) variables: HashMap<String, (u64, usize)>,
}

/// A kernel of a module.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) lives: bool,
    pub(crate) module: usize,
    pub(crate) program: Arc<Program>,
    /// The size of the module's constants in bytes.
    pub(crate) constant_bytes: usize,
    /// The largest amount of dynamic shared memory that a launch may request.
    pub(crate) dynamic_limit: usize,
}
