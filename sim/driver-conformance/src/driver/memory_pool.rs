//! The driver's own memory pools for stream-ordered allocation.

use std::ptr;

use cudarc::driver::sys;
use sys::CUmemPool_attribute_enum as Name;

use super::device::Device;
use super::refusal::Outcome;

/// A memory pool of a device.
#[derive(Debug)]
pub struct MemoryPool(sys::CUmemoryPool);

/// Attributes of a pool. Their values are in bytes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PoolAttribute {
    /// The number of bytes that the pool keeps when nothing is allocated.
    ReleaseThreshold,
    /// The number of bytes that the pool has reserved from the device.
    Reserved,
    /// The number of allocated bytes.
    Used,
}

impl PoolAttribute {
    fn raw(self) -> Name {
        match self {
            Self::ReleaseThreshold => Name::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            Self::Reserved => Name::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
            Self::Used => Name::CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
        }
    }
}

impl MemoryPool {
    /// Creates a pool on a device. A `maximum` of 0 means that there is no limit.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn new(device: &Device, maximum: usize) -> Outcome<Self> {
        let properties = properties(device, maximum);
        let mut pool = ptr::null_mut();
        // SAFETY: the output variable and the properties outlive the call.
        unsafe { call!(cuMemPoolCreate(&raw mut pool, &raw const properties)) }?;
        Ok(Self(pool))
    }

    /// Returns the default pool of the device. It must not be destroyed or changed.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn default_of(device: &Device) -> Outcome<Self> {
        let mut pool = ptr::null_mut();
        // SAFETY: the output variable outlives the call.
        // The driver returned the device.
        unsafe { call!(cuDeviceGetDefaultMemPool(&raw mut pool, device.handle())) }?;
        Ok(Self(pool))
    }

    /// Returns a numeric attribute.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn attribute(&self, attribute: PoolAttribute) -> Outcome<u64> {
        let mut value = 0_u64;
        let place = (&raw mut value).cast();
        // SAFETY: the pool is live (1).
        // These attributes have 64 bits.
        unsafe { call!(cuMemPoolGetAttribute(self.0, attribute.raw(), place)) }?;
        Ok(value)
    }

    /// Sets the number of bytes that the pool keeps when nothing is allocated.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn set_release_threshold(&self, bytes: u64) -> Outcome<()> {
        let mut value = bytes;
        let place = (&raw mut value).cast();
        // SAFETY: the pool is live (1).
        // The attribute has 64 bits.
        unsafe {
            call!(cuMemPoolSetAttribute(self.0, PoolAttribute::ReleaseThreshold.raw(), place))
        }
    }

    /// Releases free memory until at most `bytes` bytes remain reserved.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn trim_to(&self, bytes: usize) -> Outcome<()> {
        // SAFETY: the pool is live (1).
        unsafe { call!(cuMemPoolTrimTo(self.0, bytes)) }
    }

    /// Enables or disables access to the pool's memory by kernels on this device.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn set_access(&self, ordinal: i32, allowed: bool) -> Outcome<()> {
        use sys::CUmemAccess_flags_enum as Flags;
        let flags = if allowed {
            Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        } else {
            Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE
        };
        let access = sys::CUmemAccessDesc { location: location_of(ordinal), flags };
        // SAFETY: the pool is live (1).
        // The single description outlives the call.
        unsafe { call!(cuMemPoolSetAccess(self.0, &raw const access, 1)) }
    }

    /// Returns the access that kernels on this device have: 0 is none, 1 read, 3 read and write.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn access(&self, ordinal: i32) -> Outcome<u32> {
        let (mut access, mut location) = (u32::MAX, location_of(ordinal));
        let place = (&raw mut access).cast();
        // SAFETY: the pool is live (1).
        // Both variables outlive the call, and the enum is `repr(u32)`.
        unsafe { call!(cuMemPoolGetAccess(place, self.0, &raw mut location)) }?;
        Ok(access)
    }

    /// Destroys the pool.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: the pool is live, and this is its last use (1).
        unsafe { call!(cuMemPoolDestroy(self.0)) }
    }

    pub(super) fn raw(&self) -> sys::CUmemoryPool {
        self.0
    }
}

/// Returns the properties of pinned memory on a device, with a maximum size.
pub(super) fn properties(device: &Device, maximum: usize) -> sys::CUmemPoolProps {
    // SAFETY: the structure consists of integers, a pointer, and enums with a variant 0, so all
    // zeros are a valid value.
    let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
    properties.allocType = sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = location(device);
    properties.maxSize = maximum;
    properties
}

/// Returns the device as a memory location: its kind and its number. In later bindings, the number
/// is in a union.
pub(super) fn location(device: &Device) -> sys::CUmemLocation {
    location_of(device.handle())
}

fn location_of(ordinal: i32) -> sys::CUmemLocation {
    // SAFETY: the structure consists of an integer and an enum with a variant 0, so all zeros are a
    // valid value.
    let mut location: sys::CUmemLocation = unsafe { std::mem::zeroed() };
    location.type_ = sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE;
    let number = (&raw mut location).cast::<i32>().wrapping_add(1);
    // SAFETY: the number is the second of two words (`cuda.h`), whatever its name in the bindings
    // is.
    unsafe { number.write(ordinal) };
    location
}
