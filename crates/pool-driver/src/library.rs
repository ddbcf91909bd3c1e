//! The driver's library: its presence, its version, and its number of devices. The order of the
//! queries avoids panics, because cudarc panics at the first call if there is no library.

use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::{result, sys};
use libloading::Library;
use once_cell::race::OnceBool;

use crate::answer::answer;
use crate::code::DriverCode;
use crate::error::CudaError;

/// The oldest supported version of CUDA, in CUDA's numbering. It is the first with the current form
/// of `cuGetProcAddress`.
const OLDEST: u32 = 12_000;

/// The names under which the driver's library is installed. They are a subset of the names that
/// cudarc tries, in cudarc's order. cudarc's own query (`is_culib_present`) does not exist in
/// builds that link the driver.
const LIBRARIES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so", "libcuda.so.1"] };

/// Starts the driver so that its calls can be made. The next call retries a failed start, because a
/// device may become visible, or a fault may be temporary.
///
/// No lock is held, because loading a library runs foreign code, which may call this function.
/// Starting the driver twice has the same effect as starting it once.
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
    // SAFETY: this loads libraries by the names of NVIDIA's driver, whose initialisers run in every
    // program that uses CUDA.
    LIBRARIES.iter().any(|name| unsafe { Library::new(*name) }.is_ok())
}

/// Starts the driver, and checks that it supports this version of CUDA.
///
/// # Errors
///
/// Returns [`CudaError::DriverTooOld`] if the driver is older, and all errors of [`start`].
pub fn require_driver(needed: u32) -> Result<(), CudaError> {
    start()?;
    require(needed)
}

/// Does the same as [`require_driver`], for callers that know that the library is present.
pub(crate) fn require(needed: u32) -> Result<(), CudaError> {
    let driver = version()?;
    if driver < needed { Err(CudaError::DriverTooOld { driver, needed }) } else { Ok(()) }
}

/// Returns the driver's CUDA version. The library must be present, but the driver need not be
/// started.
pub fn version() -> Result<u32, CudaError> {
    static VERSION: AtomicU32 = AtomicU32::new(0);
    let known = VERSION.load(Ordering::Relaxed);
    if known != 0 {
        return Ok(known);
    }
    let mut version = 0;
    // SAFETY: the library is present, the call is older than every supported driver, and the
    // variable outlives it.
    let asked = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    answer("cuDriverGetVersion", asked.result())?;
    let version = version.try_into().unwrap_or(0);
    VERSION.store(version, Ordering::Relaxed);
    Ok(version)
}

/// Returns the number of devices that the driver reports; never 0.
pub fn device_count() -> Result<u32, CudaError> {
    start()?;
    let count = answer("cuDeviceGetCount", result::device::get_count())?;
    match u32::try_from(count) {
        Ok(count @ 1..) => Ok(count),
        _ => Err(CudaError::NoDevice),
    }
}

/// Checks that there is a device with this ordinal.
pub fn check_ordinal(asked: u32) -> Result<(), CudaError> {
    let count = device_count()?;
    if asked < count { Ok(()) } else { Err(CudaError::NoSuchDevice { asked, count }) }
}
