//! Looks up driver functions at run time so that they need not be linked at build time. Each
//! function is looked up by its name and version on the first call.
//!
//! "`cuGetProcAddress` returns the address of the requested symbol which matches the CUDA version"
//! (driver API, "Driver Entry Point Access"). A lookup for a given version returns the same
//! function with every newer driver.

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use cudarc::driver::sys;

use crate::answer::answer;
use crate::error::CudaError;
use crate::library;

/// A driver function whose signature has been the same since a given version of CUDA. The function
/// is looked up on the first call.
pub(crate) struct EntryPoint<F> {
    name: &'static CStr,
    /// The first version of CUDA in which the function has this signature. CUDA encodes a version
    /// as a number. For example, 12030 means CUDA 12.3.
    since: u32,
    found: AtomicPtr<c_void>,
    form: PhantomData<F>,
}

impl<F: Copy> EntryPoint<F> {
    const SIZE: () = assert!(size_of::<F>() == size_of::<*mut c_void>(), "a pointer to a function");

    /// Creates an entry point without looking up its function.
    ///
    /// # Safety
    ///
    /// `F` must be a pointer to a C function with the signature that CUDA's headers declare for
    /// `name` in version `since`.
    pub(crate) const unsafe fn new(name: &'static CStr, since: u32) -> Self {
        let () = Self::SIZE;
        Self { name, since, found: AtomicPtr::new(ptr::null_mut()), form: PhantomData }
    }

    /// Returns the function, which stays loaded until the process ends.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::DriverTooOld`] if the driver's version is older than `since`.
    pub(crate) fn function(&self) -> Result<F, CudaError> {
        let found = match NonNull::new(self.found.load(Ordering::Relaxed)) {
            Some(found) => found,
            None => self.find()?,
        };
        // SAFETY: the driver returned this address for the function with this name and version.
        // `new` requires `F` to be the function's type, and `SIZE` checks that `F` is as large as a
        // pointer. The function stays loaded because cudarc never unloads libraries.
        Ok(unsafe { mem::transmute_copy::<NonNull<c_void>, F>(&found) })
    }

    #[cold]
    fn find(&self) -> Result<NonNull<c_void>, CudaError> {
        library::require(self.since)?;
        let (mut place, mut status) = (ptr::null_mut(), 0_u32);
        let version = c_int::try_from(self.since).unwrap_or(c_int::MAX);
        let status = (&raw mut status).cast();
        // SAFETY: the name ends with a null byte. Both variables outlive the call. `status` is as
        // large as the 32-bit enum that the driver writes to it. This function never reads the
        // value of `status`.
        let asked = unsafe {
            sys::cuGetProcAddress_v2(self.name.as_ptr(), &raw mut place, version, 0, status)
        };
        answer("cuGetProcAddress", asked.result())?;
        let missing = CudaError::MissingCall { call: self.name.to_str().unwrap_or_default() };
        let found = NonNull::new(place).ok_or(missing)?;
        self.found.store(found.as_ptr(), Ordering::Relaxed);
        Ok(found)
    }
}
