//! State of virtual memory: reserved address ranges, pages of a device, and mappings.

/// Pages of a device.
#[derive(Debug)]
pub(crate) struct Pages {
    /// `true` until the handle is released.
    pub(crate) lives: bool,
    pub(in crate::world) device: usize,
    pub(in crate::world) bytes: usize,
    pub(in crate::world) block: usize,
    /// The number of mappings that use the pages.
    pub(in crate::world) mapped: usize,
}

/// A reserved range of addresses.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) lives: bool,
    pub(in crate::world) start: u64,
    pub(in crate::world) bytes: usize,
}
