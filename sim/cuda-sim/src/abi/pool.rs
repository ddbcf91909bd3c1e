//! Memory pools. The structures follow CUDA 13.0 and are declared here, because later bindings
//! rename some fields.

use super::foreign::{In, Out};
use crate::code::{Code, Outcome};
use crate::world::World;

/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
const PINNED: u32 = 1;

/// `CU_MEM_ALLOCATION_TYPE_MANAGED`.
const MANAGED: u32 = 2;

/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const ON_DEVICE: u32 = 1;

/// Refuses memory that is not pinned, and memory that is shared with other processes.
pub(super) fn check_allocation(allocation_type: u32, handle_types: u32) -> Outcome<()> {
    match allocation_type {
        PINNED => {}
        MANAGED => return Err(crate::code::unmodelled("managed memory in pools and pages")),
        _ => return Err(Code::INVALID_VALUE),
    }
    match handle_types {
        0 => Ok(()),
        _ => Err(crate::code::unmodelled("handles by which processes share memory")),
    }
}

/// `CUmemPoolProps`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Properties {
    allocation_type: u32,
    handle_types: u32,
    location: Location,
    security_attributes: usize,
    maximum: usize,
    reserved: [u8; 56],
}

/// `CUmemLocation`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Location {
    kind: u32,
    id: i32,
}

impl Properties {
    /// Returns the device that holds the memory. Only pinned device memory, used by this process
    /// alone, is modelled.
    pub(super) fn device(self) -> Outcome<i32> {
        check_allocation(self.allocation_type, self.handle_types)?;
        if self.reserved != [0; 56] {
            return Err(crate::code::unmodelled("uses of pools (`CUmemPoolProps::usage`)"));
        }
        self.location.device()
    }

    /// Returns the properties of pinned memory on a device.
    pub(super) fn of_device(device: i32) -> Self {
        Self {
            allocation_type: PINNED,
            handle_types: 0,
            location: Location { kind: ON_DEVICE, id: device },
            security_attributes: 0,
            maximum: 0,
            reserved: [0; 56],
        }
    }
}

impl Location {
    /// Returns the device. Other locations are not modelled.
    pub(super) fn device(self) -> Outcome<i32> {
        if self.kind == ON_DEVICE {
            Ok(self.id)
        } else {
            Err(crate::code::unmodelled("memory elsewhere than on a device"))
        }
    }
}

driver_calls! {
    fn cuMemPoolCreate(place: Out<u64>, wanted: In<Properties>) |session| {
        let wanted = wanted.get()?;
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let thread = session.thread;
        place.put(session.create_pool(thread, wanted.device()?, wanted.maximum)?)
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
