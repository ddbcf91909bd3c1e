//! Host memory for asynchronous copies. It is never freed.

use std::ffi::c_void;
use std::ptr;

use super::refusal::Outcome;

/// Pageable or page-locked host memory that lives until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct HostBuffer {
    start: *mut u8,
    bytes: usize,
}

impl HostBuffer {
    /// Allocates pageable memory and zeroes it.
    #[must_use]
    pub fn pageable(bytes: usize) -> Self {
        let memory: &'static mut [u8] = Box::leak(vec![0; bytes].into_boxed_slice());
        Self { start: memory.as_mut_ptr(), bytes }
    }

    /// Allocates page-locked memory and zeroes it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn pinned(bytes: usize) -> Outcome<Self> {
        let mut start: *mut c_void = ptr::null_mut();
        // SAFETY: the output variable outlives the call.
        // The flags are 0, which is the default.
        unsafe { call!(cuMemHostAlloc(&raw mut start, bytes, 0)) }?;
        let buffer = Self { start: start.cast(), bytes };
        buffer.fill(0);
        Ok(buffer)
    }

    /// Writes a value to every byte.
    pub fn fill(&self, value: u8) {
        for index in 0..self.bytes {
            // SAFETY: the index is below the length.
            let place = unsafe { self.start.add(index) };
            // SAFETY: the memory is never freed, and no reference to it exists.
            // A device may access it at the same time, so the access is volatile (3).
            unsafe { place.write_volatile(value) };
        }
    }

    /// Returns a copy of all bytes.
    #[must_use]
    pub fn read(&self) -> Vec<u8> {
        let byte = |index| {
            // SAFETY: the index is below the length.
            let place = unsafe { self.start.add(index) };
            // SAFETY: the memory is never freed, no reference to it exists, and the access is
            // volatile (3).
            // Both constructors initialise every byte.
            unsafe { place.read_volatile() }
        };
        (0..self.bytes).map(byte).collect()
    }

    pub(super) fn start(&self) -> *mut c_void {
        self.start.cast()
    }

    /// Returns `true` if the buffer has no address.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.start.is_null()
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::HostBuffer;

    #[test]
    fn what_is_written_is_read() {
        let buffer = HostBuffer::pageable(3);
        assert_eq!(buffer.read(), [0; 3]);
        buffer.fill(7);
        assert_eq!(buffer.read(), [7; 3]);
    }
}
