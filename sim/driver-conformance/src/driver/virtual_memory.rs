//! Virtual memory: reserving addresses, creating pages, and mapping pages.

use std::ptr;

use cudarc::driver::sys;

use super::device::Device;
use super::memory::Span;
use super::memory_pool::location;
use super::refusal::Outcome;

/// A reserved range of addresses. It is only released by freeing it.
#[derive(Debug)]
pub struct Reserved(Span);

/// Physical pages of a device.
#[derive(Debug)]
pub struct Physical {
    handle: sys::CUmemGenericAllocationHandle,
    bytes: usize,
}

/// Returns the granularity of pages in bytes.
///
/// # Errors
///
/// Returns the driver's error code, here and below.
pub fn granularity(device: &Device) -> Outcome<usize> {
    let properties = properties(device);
    let minimum = sys::CUmemAllocationGranularity_flags_enum::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    let mut bytes = 0;
    let place = &raw const properties;
    // SAFETY: both variables outlive the call.
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
    /// Creates pages. The length must be a multiple of the granularity.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn new(device: &Device, bytes: usize) -> Outcome<Self> {
        let properties = properties(device);
        let mut handle = 0;
        // SAFETY: both variables outlive the call.
        // The flags are 0, as required.
        unsafe { call!(cuMemCreate(&raw mut handle, bytes, &raw const properties, 0)) }?;
        Ok(Self { handle, bytes })
    }

    /// Releases the pages. Pages that are mapped remain until they are unmapped.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn release(self) -> Outcome<()> {
        // SAFETY: the pages are live, and this is their last use (1).
        unsafe { call!(cuMemRelease(self.handle)) }
    }
}

impl Reserved {
    /// Reserves a range of addresses.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn new(bytes: usize) -> Outcome<Self> {
        let mut address = 0;
        // SAFETY: the output variable outlives the call.
        // The alignment, the address and the flags are 0.
        unsafe { call!(cuMemAddressReserve(&raw mut address, bytes, 0, 0, 0)) }?;
        Ok(Self(Span::new(address, bytes)))
    }

    /// Returns the reserved addresses.
    #[must_use]
    pub fn span(&self) -> Span {
        self.0
    }

    /// Maps pages at an offset of the range.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn map(&self, offset: usize, pages: &Physical) -> Outcome<()> {
        let place = self.0.part(offset, pages.bytes);
        // SAFETY: the addresses are reserved and the pages are live (1).
        // The flags are 0, as required.
        unsafe { call!(cuMemMap(place.address(), place.bytes(), 0, pages.handle, 0)) }
    }

    /// Enables access to the whole range by the device. The whole range must be mapped.
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
        // SAFETY: the addresses are reserved.
        // There is one description, and it outlives the call.
        unsafe { call!(cuMemSetAccess(address, bytes, &raw const access, 1)) }
    }

    /// Unmaps the pages in a part of the range.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn unmap(&self, offset: usize, bytes: usize) -> Outcome<()> {
        let place = self.0.part(offset, bytes);
        // SAFETY: the addresses are reserved.
        // The driver refuses a range that is not mapped (2).
        unsafe { call!(cuMemUnmap(place.address(), place.bytes())) }
    }
}
