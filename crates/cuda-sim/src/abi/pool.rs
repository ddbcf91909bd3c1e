//! Memory pools.

use cudarc::driver::sys;

use super::foreign::{In, Out};
use crate::world::{Code, Outcome, World};

/// Pinned memory on a device.
pub(super) fn properties(device: i32) -> sys::CUmemPoolProps {
    sys::CUmemPoolProps {
        allocType: sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: sys::CUmemAllocationHandleType_enum::CU_MEM_HANDLE_TYPE_NONE,
        location: sys::CUmemLocation {
            type_: sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE,
            id: device,
        },
        win32SecurityAttributes: std::ptr::null_mut(),
        maxSize: 0,
        usage: 0,
        reserved: [0; 54],
    }
}

/// The device of a location; nothing else is modelled.
pub(super) fn device_of(location: &sys::CUmemLocation) -> Outcome<i32> {
    use sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE as DEVICE;
    if location.type_ == DEVICE {
        Ok(location.id)
    } else {
        Err(crate::world::unmodelled("memory elsewhere than on a device"))
    }
}

driver_calls! {
    fn cuMemPoolCreate(place: Out<u64>, wanted: In<sys::CUmemPoolProps>) |session| {
        let wanted = wanted.get()?;
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.create_pool(device_of(&wanted.location)?, wanted.maxSize)?)
    }

    fn cuMemPoolDestroy(pool: u64) |session| { session.destroy_pool(pool) }

    fn cuMemPoolTrimTo(pool: u64, bytes: usize) |session| {
        let thread = session.thread;
        session.trim_pool(thread, pool, bytes)
    }

    fn cuMemPoolGetAttribute(pool: u64, attribute: u32, place: Out<u64>) |session| {
        let value = session.pool_attribute(pool, attribute)?;
        if World::is_short_attribute(attribute) {
            return place.of::<u32>().put(u32::from(value != 0));
        }
        place.put(value)
    }

    fn cuMemPoolSetAttribute(pool: u64, attribute: u32, place: Out<u64>) |session| {
        let value = if World::is_short_attribute(attribute) {
            place.of::<u32>().get()?.into()
        } else {
            place.get()?
        };
        session.set_pool_attribute(pool, attribute, value)
    }

    fn cuDeviceGetDefaultMemPool(place: Out<u64>, device: i32) |session| {
        place.put(session.pool_of(device, false)?)
    }

    fn cuDeviceGetMemPool(place: Out<u64>, device: i32) |session| {
        place.put(session.pool_of(device, true)?)
    }

    fn cuDeviceSetMemPool(device: i32, pool: u64) |session| {
        session.set_current_pool(device, pool)
    }
}
