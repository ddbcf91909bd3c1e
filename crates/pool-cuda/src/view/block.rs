//! The backend's handle for a block.

use std::ptr::{NonNull, without_provenance_mut};

use pool_driver::calls::Address;

/// A block of device memory, represented by its address; 0 means no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBlock(pub(crate) Address);

impl DeviceBlock {
    /// Returns the start of the block on the device.
    #[must_use]
    pub fn address(self) -> u64 {
        self.0
    }

    /// Returns the address as a pointer, which the host cannot dereference. For no block, it is
    /// dangling.
    pub(crate) fn pointer(self) -> NonNull<u8> {
        let address = usize::try_from(self.0).ok();
        let pointer = address.and_then(|address| NonNull::new(without_provenance_mut(address)));
        pointer.unwrap_or(NonNull::dangling())
    }
}
