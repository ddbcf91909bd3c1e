//! Addresses and pages apart.

use cudarc::driver::sys;

use super::foreign::{In, Out};
use super::pool::device_of;
use crate::world::{Code, PAGE};

driver_calls! {
    fn cuMemGetAllocationGranularity(
        place: Out<usize>,
        wanted: In<sys::CUmemAllocationProp>,
        _option: u32,
    ) |session| {
        session.device(device_of(&wanted.get()?.location)?)?;
        place.put(PAGE)
    }

    fn cuMemCreate(
        place: Out<u64>,
        bytes: usize,
        wanted: In<sys::CUmemAllocationProp>,
        flags: u64,
    ) |session| {
        let device = device_of(&wanted.get()?.location)?;
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
        wanted: In<sys::CUmemAccessDesc>,
        count: usize,
    ) |session| {
        use sys::CUmemAccess_flags_enum::CU_MEM_ACCESS_FLAGS_PROT_READWRITE as READ_AND_WRITE;
        for wanted in wanted.array(count)? {
            session.device(device_of(&wanted.location)?)?;
            session.set_access(address, bytes, wanted.flags == READ_AND_WRITE)?;
        }
        Ok(())
    }
}
