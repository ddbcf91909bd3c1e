//! Driver calls that are looked up by name and version at their first use, and not linked.
//!
//! "`cuGetProcAddress` returns the address of the requested symbol which matches the CUDA version"
//! (driver API, "Driver Entry Point Access"). So the meaning of a name in a version is the same in
//! every newer driver.

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use cudarc::driver::sys;

use crate::answer::answer;
use crate::error::CudaError;
use crate::library;

/// A driver call in the form that it has since one version, looked up at the first call.
pub(crate) struct EntryPoint<F> {
    name: &'static CStr,
    /// The first version of CUDA that has this form, as CUDA counts: 12030 is 12.3.
    since: u32,
    found: AtomicPtr<c_void>,
    form: PhantomData<F>,
}

impl<F: Copy> EntryPoint<F> {
    const SIZE: () = assert!(size_of::<F>() == size_of::<*mut c_void>(), "a pointer to a function");

    /// Makes a call that is not looked up yet.
    ///
    /// # Safety
    ///
    /// `F` is a pointer to a function of the C interface with the arguments that CUDA's headers give the name
    /// in that version.
    pub(crate) const unsafe fn new(name: &'static CStr, since: u32) -> Self {
        let () = Self::SIZE;
        Self { name, since, found: AtomicPtr::new(ptr::null_mut()), form: PhantomData }
    }

    /// Returns the function, which is live for as long as the process.
    ///
    /// # Errors
    ///
    /// [`CudaError::DriverTooOld`] if the driver is of an older version.
    pub(crate) fn function(&self) -> Result<F, CudaError> {
        let found = match NonNull::new(self.found.load(Ordering::Relaxed)) {
            Some(found) => found,
            None => self.find()?,
        };
        // SAFETY: the driver returned the address of the function of this name and version. Its
        // form is `F` (`new`), which is as large as a pointer (`SIZE`). cudarc never unloads
        // libraries.
        Ok(unsafe { mem::transmute_copy::<NonNull<c_void>, F>(&found) })
    }

    #[cold]
    fn find(&self) -> Result<NonNull<c_void>, CudaError> {
        library::require(self.since)?;
        let (mut place, mut status) = (ptr::null_mut(), 0_u32);
        let version = c_int::try_from(self.since).unwrap_or(c_int::MAX);
        let status = (&raw mut status).cast();
        // SAFETY: the name ends with 0, and both places outlive the call. The second is as large as
        // the 32-bit enum that is written there, and is not read.
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
