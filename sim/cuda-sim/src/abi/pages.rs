//! Virtual memory: address ranges and physical pages, which are managed separately.

use super::foreign::{In, Out};
use super::pool::{Location, check_allocation};
use crate::code::{Code, Outcome, unmodelled};
use crate::world::PAGE;

/// `CUmemAccess_flags`.
const NONE: u32 = 0;
const READ: u32 = 1;
const READ_AND_WRITE: u32 = 3;

/// `CU_MEM_ALLOC_GRANULARITY_RECOMMENDED`. The minimum granularity, flag 0, is the same number of
/// bytes.
const RECOMMENDED: u32 = 1;

/// `CUmemAllocationProp`.
#[derive(Clone, Copy)]
#[repr(C)]
struct AllocationProperties {
    allocation_type: u32,
    handle_types: u32,
    location: Location,
    metadata: usize,
    flags: [u8; 8],
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct AccessDescription {
    pub(super) location: Location,
    pub(super) flags: u32,
}

impl AllocationProperties {
    fn device(self) -> Outcome<i32> {
        check_allocation(self.allocation_type, self.handle_types)?;
        if self.flags != [0; 8] {
            return Err(unmodelled("pages that are compressed or shared with other devices"));
        }
        self.location.device()
    }
}

driver_calls! {
    fn cuMemGetAllocationGranularity(
        place: Out<usize>,
        wanted: In<AllocationProperties>,
        option: u32,
    ) |session| {
        if option > RECOMMENDED {
            return Err(Code::INVALID_VALUE);
        }
        session.device(wanted.get()?.device()?)?;
        place.put(PAGE)
    }

    fn cuMemCreate(
        place: Out<u64>,
        bytes: usize,
        wanted: In<AllocationProperties>,
        flags: u64,
    ) |session| {
        let device = wanted.get()?.device()?;
        if flags != 0 || place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.create_pages(device, bytes)?)
    }

    fn cuMemRelease(pages: u64) |session| { session.release_pages(pages) }

    fn cuMemAddressReserve(
        place: Out<u64>,
        bytes: usize,
        alignment: usize,
        _wish: u64,
        flags: u64,
    ) |session| {
        if flags != 0 || place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.reserve(bytes, alignment)?)
    }

    fn cuMemAddressFree(address: u64, bytes: usize) |session| { session.unreserve(address, bytes) }

    fn cuMemMap(address: u64, bytes: usize, offset: usize, pages: u64, flags: u64) |session| {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        session.map(address, bytes, offset, pages)
    }

    fn cuMemUnmap(address: u64, bytes: usize) |session| { session.unmap(address, bytes) }

    fn cuMemSetAccess(
        address: u64,
        bytes: usize,
        wanted: In<AccessDescription>,
        count: usize,
    ) |session| {
        for wanted in wanted.array(count)? {
            session.device(wanted.location.device()?)?;
            let allowed = match wanted.flags {
                NONE => false,
                READ_AND_WRITE => true,
                READ => return Err(unmodelled("pages that may only be read")),
                _ => return Err(Code::INVALID_VALUE),
            };
            session.set_access(address, bytes, allowed)?;
        }
        Ok(())
    }
}
