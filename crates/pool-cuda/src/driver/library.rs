//! Discovery: whether there is a driver, whether it is new enough, and how many devices it sees. Asked
//! once, in an order in which nothing panics: cudarc panics at the first call where there is no library.

use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::{result, sys};
use libloading::Library;
use once_cell::race::OnceBool;

use crate::driver::answer::answer;
use crate::driver::code::DriverCode;
use crate::driver::error::CudaError;

/// The oldest version of CUDA whose drivers will do, as the driver counts: `cuGetProcAddress` in its present
/// form.
const OLDEST: u32 = 12_000;

/// What the driver's library is called: of the names that cudarc tries those under which it is installed, in
/// its order. cudarc's own question is not there where programs are linked with the driver.
const LIBRARIES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so", "libcuda.so.1"] };

/// Sees to it that calls of the driver can be made. What failed once is tried again at the next call:
/// a device may become visible, a fault may pass. Without a lock: loading a library runs code of others, which
/// may come here, and starting twice is no more than starting.
pub(crate) fn start() -> Result<(), CudaError> {
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
    // SAFETY: it loads libraries by the names that NVIDIA's driver has; what their initialisers do is
    // what every program that uses CUDA runs.
    LIBRARIES.iter().any(|name| unsafe { Library::new(*name) }.is_ok())
}

/// Checks that the driver is for this version of CUDA, or a newer one.
///
/// # Errors
///
/// [`CudaError::DriverTooOld`] where it is not.
pub fn require_driver(needed: u32) -> Result<(), CudaError> {
    start()?;
    require(needed)
}

/// As [`require_driver`], where a library is present.
pub(crate) fn require(needed: u32) -> Result<(), CudaError> {
    let driver = version()?;
    if driver < needed { Err(CudaError::DriverTooOld { driver, needed }) } else { Ok(()) }
}

/// The CUDA version that the driver is for; can be asked before it is started, where a library is present.
pub(crate) fn version() -> Result<u32, CudaError> {
    static VERSION: AtomicU32 = AtomicU32::new(0);
    let known = VERSION.load(Ordering::Relaxed);
    if known != 0 {
        return Ok(known);
    }
    let mut version = 0;
    // SAFETY: a library is present, the call is older than any that is supported, and the place
    // outlives it.
    let asked = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    answer("cuDriverGetVersion", asked.result())?;
    let version = version.try_into().unwrap_or(0);
    VERSION.store(version, Ordering::Relaxed);
    Ok(version)
}

/// How many devices the driver sees; not zero.
pub(crate) fn device_count() -> Result<u32, CudaError> {
    start()?;
    let count = answer("cuDeviceGetCount", result::device::get_count())?;
    match u32::try_from(count) {
        Ok(count @ 1..) => Ok(count),
        _ => Err(CudaError::NoDevice),
    }
}

/// Checks that there is a device of this ordinal.
pub(crate) fn check_ordinal(asked: u32) -> Result<(), CudaError> {
    let count = device_count()?;
    if asked < count { Ok(()) } else { Err(CudaError::NoSuchDevice { asked, count }) }
}
