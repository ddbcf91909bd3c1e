//! Calls that allocate and free memory.

use super::foreign::Out;
use crate::code::Code;
use crate::world::Fact;

/// `CU_MEMHOSTREGISTER_PORTABLE` and `CU_MEMHOSTREGISTER_DEVICEMAP`: in the simulator, all
/// page-locked memory has both properties.
const PORTABLE: u32 = 1;
const MAPPED: u32 = 2;
/// `CU_MEMHOSTALLOC_WRITECOMBINED`: a hint about the host's caches.
const WRITE_COMBINED: u32 = 4;

driver_calls! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) |session| {
        let (left, all) = session.memory_information(session.thread)?;
        free.put(left)?;
        total.put(all)
    }

    fn cuMemAlloc_v2(place: Out<u64>, bytes: usize) |session| {
        let thread = session.thread;
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.allocate_plain(thread, bytes)?)
    }

    fn cuMemFree_v2(address: u64) |session| {
        let thread = session.thread;
        let Some(goal) = session.begin_free(thread, address)? else { return Ok(()) };
        session.reach(goal)?;
        session.finish_free(address)
    }

    fn cuMemHostAlloc(place: Out<u64>, bytes: usize, flags: u32) |session| {
        let thread = session.thread;
        if place.is_null() || flags & !(PORTABLE | MAPPED | WRITE_COMBINED) != 0 {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.allocate_host(thread, bytes)?)
    }

    fn cuMemAllocHost_v2(place: Out<u64>, bytes: usize) |session| {
        let thread = session.thread;
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.allocate_host(thread, bytes)?)
    }

    fn cuMemFreeHost(address: u64) |session| {
        let thread = session.thread;
        let goal = session.begin_free_host(thread, address)?;
        session.reach(goal)?;
        session.finish_free_host(address)
    }

    fn cuMemHostGetDevicePointer_v2(place: Out<u64>, address: u64, flags: u32) |session| {
        if place.is_null() || flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.device_address_of_host(session.thread, address)?)
    }

    fn cuMemHostRegister_v2(address: u64, bytes: usize, flags: u32) |session| {
        let thread = session.thread;
        if flags & !(PORTABLE | MAPPED) != 0 {
            return Err(crate::code::unmodelled(&format!("cuMemHostRegister with flags {flags}")));
        }
        session.register_host(thread, address, bytes)
    }

    fn cuMemHostUnregister(address: u64) |session| {
        let thread = session.thread;
        let goal = session.begin_unregister(thread, address)?;
        session.reach(goal)?;
        session.finish_unregister(address)
    }

    fn cuPointerGetAttribute(place: Out<u32>, attribute: u32, address: u64) |session| {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        match session.pointer_fact(attribute, address)? {
            Fact::Narrow(value) => place.put(value),
            Fact::Wide(value) => place.of::<u64>().put(value),
        }
    }

    fn cuMemAllocAsync(place: Out<u64>, bytes: usize, stream: u64) |session| {
        let thread = session.thread;
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.allocate_async(thread, stream, bytes, None)?)
    }

    fn cuMemAllocFromPoolAsync(place: Out<u64>, bytes: usize, pool: u64, stream: u64) |session| {
        let thread = session.thread;
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.allocate_async(thread, stream, bytes, Some(pool))?)
    }

    fn cuMemFreeAsync(address: u64, stream: u64) |session| {
        let thread = session.thread;
        session.free_async(thread, stream, address)
    }

    fn cuMemGetAddressRange_v2(start: Out<u64>, bytes: Out<usize>, address: u64) |session| {
        let (first, len) = session.address_range(address).ok_or(Code::INVALID_VALUE)?;
        start.put_if_wanted(first);
        bytes.put_if_wanted(len);
        Ok(())
    }
}
