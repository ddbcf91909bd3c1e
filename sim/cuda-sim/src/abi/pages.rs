//! Addresses and pages apart.

use super::foreign::{In, Out};
use super::pool::Location;
use crate::code::Code;
use crate::world::PAGE;

/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const READ_AND_WRITE: u32 = 3;

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

driver_calls! {
    fn cuMemGetAllocationGranularity(
        place: Out<usize>,
        wanted: In<AllocationProperties>,
        _option: u32,
    ) |session| {
        session.device(wanted.get()?.location.device()?)?;
        place.put(PAGE)
    }

    fn cuMemCreate(
        place: Out<u64>,
        bytes: usize,
        wanted: In<AllocationProperties>,
        flags: u64,
    ) |session| {
        let device = wanted.get()?.location.device()?;
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
            session.set_access(address, bytes, wanted.flags == READ_AND_WRITE)?;
        }
        Ok(())
    }
}
