//! Addresses and pages apart: reserved ranges, pages of a device, and what is mapped where.

/// Pages of a device.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Whether somebody holds the handle.
    pub(crate) lives: bool,
    pub(in crate::world) device: usize,
    pub(in crate::world) bytes: usize,
    pub(in crate::world) block: usize,
    /// How often they are mapped.
    pub(in crate::world) mapped: usize,
}

/// Reserved addresses.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) lives: bool,
    pub(in crate::world) start: u64,
    pub(in crate::world) bytes: usize,
}
