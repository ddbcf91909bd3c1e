//! State of devices: primary contexts, memory in use, output of kernels.

use std::collections::HashMap;

use crate::code::Code;
use crate::kernel::Buffer;

/// A device with its primary context.
#[derive(Debug)]
pub(crate) struct Device {
    /// The number of retains of the context; 0 if there is none.
    pub(crate) retained: u32,
    pub(crate) flags: u32,
    /// The error that every later call of the context returns.
    pub(crate) sticky: Option<Code>,
    pub(crate) legacy: Option<usize>,
    pub(crate) per_thread: HashMap<u64, usize>,
    pub(crate) default_pool: usize,
    pub(crate) current_pool: usize,
    pub(crate) limit: usize,
    /// Bytes of small allocations, which share pages.
    pub(crate) small: usize,
    /// Bytes of large allocations and of pages, in whole pages.
    pub(crate) large: usize,
    /// Output of its kernels that was not shown yet.
    pub(crate) printed: Buffer,
}

impl Device {
    pub(crate) fn new(limit: usize, pool: usize) -> Self {
        Self {
            retained: 0,
            flags: 0,
            sticky: None,
            legacy: None,
            per_thread: HashMap::new(),
            default_pool: pool,
            current_pool: pool,
            limit,
            small: 0,
            large: 0,
            printed: Buffer::default(),
        }
    }
}
