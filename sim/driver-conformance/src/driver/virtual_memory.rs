//! Virtual memory: reserving addresses, creating pages, mapping.

use std::ptr;

use cudarc::driver::sys;

use super::device::Device;
use super::memory::Span;
use super::memory_pool::location;
use super::refusal::Outcome;

/// Reserved addresses. They are never released unless freed.
#[derive(Debug)]
pub struct Reserved(Span);

/// Pages of a device.
#[derive(Debug)]
pub struct Physical {
    handle: sys::CUmemGenericAllocationHandle,
    bytes: usize,
}

/// Returns the unit of pages, in bytes.
///
/// # Errors
///
/// Returns the driver's error code, here and below.
pub fn granularity(device: &Device) -> Outcome<usize> {
    let properties = properties(device);
    let minimum = sys::CUmemAllocationGranularity_flags_enum::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    let mut bytes = 0;
    let place = &raw const properties;
    // SAFETY: both places outlive the call.
    unsafe { call!(cuMemGetAllocationGranularity(&raw mut bytes, place, minimum)) }?;
    Ok(bytes)
}

fn properties(device: &Device) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: sys::CUmemAllocationHandleType_enum::CU_MEM_HANDLE_TYPE_NONE,
        location: location(device),
        win32HandleMetaData: ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

impl Physical {
    /// Creates pages; the length must be a multiple of the granularity.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn new(device: &Device, bytes: usize) -> Outcome<Self> {
        let properties = properties(device);
        let mut handle = 0;
        // SAFETY: both places outlive the call; the flags must be 0.
        unsafe { call!(cuMemCreate(&raw mut handle, bytes, &raw const properties, 0)) }?;
        Ok(Self { handle, bytes })
    }

    /// Releases them; mapped pages stay until they are unmapped.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn release(self) -> Outcome<()> {
        // SAFETY: the pages are live and this was their last use (1).
        unsafe { call!(cuMemRelease(self.handle)) }
    }
}

impl Reserved {
    /// Reserves addresses.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn new(bytes: usize) -> Outcome<Self> {
        let mut address = 0;
        // SAFETY: the place outlives the call; alignment, address and flags are 0.
        unsafe { call!(cuMemAddressReserve(&raw mut address, bytes, 0, 0, 0)) }?;
        Ok(Self(Span::new(address, bytes)))
    }

    /// Returns the addresses.
    #[must_use]
    pub fn span(&self) -> Span {
        self.0
    }

    /// Maps pages at an offset.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn map(&self, offset: usize, pages: &Physical) -> Outcome<()> {
        let place = self.0.part(offset, pages.bytes);
        // SAFETY: the addresses are reserved and the pages live (1); the flags must be 0.
        unsafe { call!(cuMemMap(place.address(), place.bytes(), 0, pages.handle, 0)) }
    }

    /// Enables reads and writes of all of it by the device; all of it must be mapped.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn allow(&self, device: &Device) -> Outcome<()> {
        let access = sys::CUmemAccessDesc {
            location: location(device),
            flags: sys::CUmemAccess_flags_enum::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        let (address, bytes) = (self.0.address(), self.0.bytes());
        // SAFETY: the addresses are reserved; there is one description, and it outlives the call.
        unsafe { call!(cuMemSetAccess(address, bytes, &raw const access, 1)) }
    }

    /// Unmaps the pages of a part of it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn unmap(&self, offset: usize, bytes: usize) -> Outcome<()> {
        let place = self.0.part(offset, bytes);
        // SAFETY: the addresses are reserved; the driver refuses a range that is not mapped (2).
        unsafe { call!(cuMemUnmap(place.address(), place.bytes())) }
    }
}
