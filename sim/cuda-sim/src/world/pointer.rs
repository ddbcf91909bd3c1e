//! Attributes of addresses, and the device addresses of host memory.

use super::World;
use super::state::handle::Kind;
use super::state::memory::Region;
use super::state::pointer::Fact;
use crate::code::{Code, Outcome, unmodelled};

/// `CUpointer_attribute`.
const CONTEXT: u32 = 1;

const MEMORY_TYPE: u32 = 2;

const DEVICE_POINTER: u32 = 3;

const HOST_POINTER: u32 = 4;

const BUFFER_ID: u32 = 7;

const IS_MANAGED: u32 = 8;

const DEVICE_ORDINAL: u32 = 9;

const RANGE_START: u32 = 11;

const RANGE_SIZE: u32 = 12;

const LAST: u32 = 21;

/// `CUmemorytype`.
const OF_HOST: u32 = 1;

const OF_DEVICE: u32 = 2;

impl World {
    /// `cuPointerGetAttribute`.
    pub(crate) fn pointer_fact(&self, attribute: u32, address: u64) -> Outcome<Fact> {
        self.initialized()?;
        if attribute == 0 || attribute > LAST {
            return Err(Code::INVALID_VALUE);
        }
        let region = self.memory.around(address).ok_or(Code::INVALID_VALUE)?;
        let of_host = region.origin.is_of_the_host();
        Ok(match attribute {
            CONTEXT => Fact::Wide(self.handles.make(Kind::Context, region.device)),
            MEMORY_TYPE => Fact::Narrow(if of_host { OF_HOST } else { OF_DEVICE }),
            DEVICE_POINTER => Fact::Wide(address),
            HOST_POINTER if of_host => Fact::Wide(address),
            HOST_POINTER => return Err(Code::INVALID_VALUE),
            // Blocks are never reused.
            BUFFER_ID => Fact::Wide(region.block as u64 + 1),
            IS_MANAGED => Fact::Narrow(0),
            DEVICE_ORDINAL => Fact::Narrow(u32::try_from(region.device).unwrap_or_default()),
            RANGE_START => Fact::Wide(region.start),
            RANGE_SIZE => Fact::Wide(region.len as u64),
            other => return Err(unmodelled(&format!("attribute {other} of a pointer"))),
        })
    }

    /// `cuMemHostGetDevicePointer`: page-locked memory has the same address on the host and on all
    /// devices.
    pub(crate) fn device_address_of_host(&self, thread: u64, address: u64) -> Outcome<u64> {
        self.current(thread)?;
        let is_of_the_host = |region: &Region| region.origin.is_of_the_host();
        let found = self.memory.around(address).filter(is_of_the_host);
        found.map(|_| address).ok_or(Code::INVALID_VALUE)
    }
}
