//! What a pool's backend knows a block by.

use pool_driver::calls::Address;

/// A block of device memory: its address, 0 for no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBlock(pub(crate) Address);

impl DeviceBlock {
    /// Where the block starts on the device.
    #[must_use]
    pub fn address(self) -> u64 {
        self.0
    }
}
