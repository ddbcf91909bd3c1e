//! Loads the driver's library. This module determines whether the library is present, which version
//! it has, and how many devices the driver reports. The module first checks that the library is
//! present, because cudarc panics at its first driver call if the library is missing.

use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::{result, sys};
use libloading::Library;
use once_cell::race::OnceBool;

use crate::answer::answer;
use crate::code::DriverCode;
use crate::error::CudaError;

/// The oldest supported version of CUDA, in CUDA's encoding. CUDA 12.0 is the first version in
/// which `cuGetProcAddress` has its current signature.
const OLDEST: u32 = 12_000;

/// The file names of the driver's library. These names are a subset of the names that cudarc tries,
/// in the same order. This crate does not call cudarc's `is_culib_present`, because that function
/// does not exist in builds that link the driver.
const LIBRARIES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so", "libcuda.so.1"] };

/// Starts the driver so that its functions can be called. If the driver fails to start, the next
/// call tries again, because the cause may be temporary.
///
/// The function holds no lock while it starts the driver, because loading a library runs code
/// outside this crate. This code may call `start` again. Starting the driver twice has the same
/// effect as starting it once.
pub fn start() -> Result<(), CudaError> {
    static STARTED: OnceBool = OnceBool::new();
    STARTED.get_or_try_init(|| try_start().map(|()| true)).map(|_| ())
}

fn try_start() -> Result<(), CudaError> {
    if !is_present() {
        return Err(CudaError::NoLibrary);
    }
    require(OLDEST)?;
    result::init().map_err(|error| match error.into() {
        DriverCode::NO_DEVICE => CudaError::NoDevice,
        code => CudaError::NotStarted { code },
    })
}

fn is_present() -> bool {
    // SAFETY: only NVIDIA's driver is installed under these library names. Running the driver's
    // initializers is safe, because every program that uses CUDA runs them.
    LIBRARIES.iter().any(|name| unsafe { Library::new(*name) }.is_ok())
}

/// Starts the driver and checks that it supports the given version of CUDA.
///
/// # Errors
///
/// Returns the same errors as [`start`], or [`CudaError::DriverTooOld`] if the driver does not
/// support this version.
pub fn require_driver(needed: u32) -> Result<(), CudaError> {
    start()?;
    require(needed)
}

/// Checks the driver's version like [`require_driver`], but does not start the driver. The library
/// must be present.
pub(crate) fn require(needed: u32) -> Result<(), CudaError> {
    let driver = version()?;
    if driver < needed { Err(CudaError::DriverTooOld { driver, needed }) } else { Ok(()) }
}

/// Returns the driver's CUDA version. The library must be present, but the driver does not have to
/// be started first.
pub fn version() -> Result<u32, CudaError> {
    static VERSION: AtomicU32 = AtomicU32::new(0);
    let known = VERSION.load(Ordering::Relaxed);
    if known != 0 {
        return Ok(known);
    }
    let mut version = 0;
    // SAFETY: the library is present, and every supported driver provides this function. The
    // variable outlives the call.
    let asked = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    answer("cuDriverGetVersion", asked.result())?;
    let version = version.try_into().unwrap_or(0);
    VERSION.store(version, Ordering::Relaxed);
    Ok(version)
}

/// Returns the number of devices that the driver reports. This number is never 0.
pub fn device_count() -> Result<u32, CudaError> {
    start()?;
    let count = answer("cuDeviceGetCount", result::device::get_count())?;
    match u32::try_from(count) {
        Ok(count @ 1..) => Ok(count),
        _ => Err(CudaError::NoDevice),
    }
}

/// Checks that a device with the given ordinal exists.
pub fn check_ordinal(asked: u32) -> Result<(), CudaError> {
    let count = device_count()?;
    if asked < count { Ok(()) } else { Err(CudaError::NoSuchDevice { asked, count }) }
}
