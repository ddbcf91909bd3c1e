//! Addresses and pages apart: reserve the one, make the other, map.

use std::ptr;

use cudarc::driver::sys;

use super::device::Device;
use super::memory::Span;
use super::memory_pool::location;
use super::refusal::Outcome;

/// Reserved addresses; they stay reserved until the process ends unless given back.
#[derive(Debug)]
pub struct Reserved(Span);

/// Pages of a device.
#[derive(Debug)]
pub struct Physical {
    handle: sys::CUmemGenericAllocationHandle,
    bytes: usize,
}

/// The unit of pages, in bytes.
///
/// # Errors
///
/// What the driver answers, here and below.
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
    /// Makes pages; the length must be a multiple of the granularity.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn new(device: &Device, bytes: usize) -> Outcome<Self> {
        let properties = properties(device);
        let mut handle = 0;
        // SAFETY: both places outlive the call; the flags must be 0.
        unsafe { call!(cuMemCreate(&raw mut handle, bytes, &raw const properties, 0)) }?;
        Ok(Self { handle, bytes })
    }

    /// Gives them back; what is mapped stays until it is unmapped.
    ///
    /// # Errors
    ///
    /// What the driver answers.
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
    /// What the driver answers.
    pub fn new(bytes: usize) -> Outcome<Self> {
        let mut address = 0;
        // SAFETY: the place outlives the call; no alignment, address or flag is asked for.
        unsafe { call!(cuMemAddressReserve(&raw mut address, bytes, 0, 0, 0)) }?;
        Ok(Self(Span::new(address, bytes)))
    }

    /// The addresses.
    #[must_use]
    pub fn span(&self) -> Span {
        self.0
    }

    /// Maps pages at an offset.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn map(&self, offset: usize, pages: &Physical) -> Outcome<()> {
        let place = self.0.part(offset, pages.bytes);
        // SAFETY: the addresses are reserved and the pages live (1); the flags must be 0.
        unsafe { call!(cuMemMap(place.address(), place.bytes(), 0, pages.handle, 0)) }
    }

    /// Lets the device read and write all of it, which must be mapped.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn allow(&self, device: &Device) -> Outcome<()> {
        let access = sys::CUmemAccessDesc {
            location: location(device),
            flags: sys::CUmemAccess_flags_enum::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        let (address, bytes) = (self.0.address(), self.0.bytes());
        // SAFETY: the addresses are reserved; there is one description, and it outlives the call.
        unsafe { call!(cuMemSetAccess(address, bytes, &raw const access, 1)) }
    }

    /// Takes the pages away from part of it.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn unmap(&self, offset: usize, bytes: usize) -> Outcome<()> {
        let place = self.0.part(offset, bytes);
        // SAFETY: the addresses are reserved; the driver refuses what is not mapped (2).
        unsafe { call!(cuMemUnmap(place.address(), place.bytes())) }
    }
}
