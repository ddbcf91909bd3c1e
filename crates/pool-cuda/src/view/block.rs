//! Defines the type that represents a block of device memory.

use std::ptr::{NonNull, without_provenance_mut};

use pool_driver::calls::Address;

/// A block of device memory, identified by its address. Address 0 means that there is no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBlock(pub(crate) Address);

impl DeviceBlock {
    /// Returns the device address of the block.
    #[must_use]
    pub fn address(self) -> u64 {
        self.0
    }

    /// Returns the address as a pointer that the host cannot dereference. If there is no block, the
    /// pointer is dangling.
    pub(crate) fn pointer(self) -> NonNull<u8> {
        let address = usize::try_from(self.0).ok();
        let pointer = address.and_then(|address| NonNull::new(without_provenance_mut(address)));
        pointer.unwrap_or(NonNull::dangling())
    }
}
