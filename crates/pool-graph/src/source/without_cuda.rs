//! A replacement for `DeviceMemory` in builds without CUDA. The replacement type has no values.

use std::convert::Infallible;

use pool_core::Device;

use super::contract::MemorySource;

/// A CUDA device's memory. This type has no values, because this crate was built without its `cuda`
/// feature.
#[derive(Clone, Copy, Debug)]
pub enum DeviceMemory {}

// SAFETY: this type has no values, so none of these methods can be called.
unsafe impl MemorySource for DeviceMemory {
    type Error = Infallible;

    fn device(&self) -> Device {
        match *self {}
    }

    fn allocate(&self, _: u64) -> Result<u64, Infallible> {
        match *self {}
    }

    unsafe fn free(&self, _: u64, _: u64) -> bool {
        match *self {}
    }
}
