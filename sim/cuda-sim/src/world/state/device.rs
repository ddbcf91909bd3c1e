//! State of devices: primary contexts, memory in use, and kernel output.

use std::collections::HashMap;

use crate::code::Code;
use crate::kernel::Buffer;

/// A device with its primary context.
#[derive(Debug)]
pub(crate) struct Device {
    /// How many times the context is retained; 0 if there is no context.
    pub(crate) retained: u32,
    pub(crate) flags: u32,
    /// The error that every later call in the context returns.
    pub(crate) sticky: Option<Code>,
    pub(crate) legacy: Option<usize>,
    pub(crate) per_thread: HashMap<u64, usize>,
    pub(crate) default_pool: usize,
    pub(crate) current_pool: usize,
    pub(crate) limit: usize,
    /// The number of bytes in small allocations, which share pages.
    pub(crate) small: usize,
    /// The number of bytes in large allocations and in pages, rounded up to whole pages.
    pub(crate) large: usize,
    /// Kernel output that has not been shown yet.
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
