//! Discovery: whether there is a driver, whether it is new enough, and how many devices it sees. Asked
//! once, in an order in which nothing panics: cudarc panics at the first call where there is no library.

use cudarc::driver::{result, sys};
use once_cell::race::OnceBool;

use crate::code::DriverCode;
use crate::driver::answer;
use crate::error::CudaError;

/// The CUDA version of the bindings, as the driver counts.
const NEEDED: u32 = if cfg!(feature = "cuda-13010") {
    13_010
} else if cfg!(feature = "cuda-13000") {
    13_000
} else if cfg!(feature = "cuda-12090") {
    12_090
} else if cfg!(feature = "cuda-12080") {
    12_080
} else if cfg!(feature = "cuda-12060") {
    12_060
} else if cfg!(feature = "cuda-12050") {
    12_050
} else if cfg!(feature = "cuda-12040") {
    12_040
} else if cfg!(feature = "cuda-12030") {
    12_030
} else if cfg!(feature = "cuda-12020") {
    12_020
} else if cfg!(feature = "cuda-12010") {
    12_010
} else {
    12_000
};

/// Sees to it that calls of the driver can be made. What failed once is tried again at the next call:
/// a device may become visible, a fault may pass. Without a lock: loading a library runs code of others, which
/// may come here, and starting twice is no more than starting.
pub(crate) fn start() -> Result<(), CudaError> {
    static STARTED: OnceBool = OnceBool::new();
    STARTED.get_or_try_init(|| try_start().map(|()| true)).map(|_| ())
}

fn try_start() -> Result<(), CudaError> {
    // SAFETY: it loads libraries by the names that NVIDIA's driver has; what their initialisers do is
    // what every program that uses CUDA runs.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoLibrary);
    }
    let driver = version()?;
    if driver < NEEDED {
        return Err(CudaError::DriverTooOld { driver, needed: NEEDED });
    }
    result::init().map_err(|error| match error.into() {
        DriverCode::NO_DEVICE => CudaError::NoDevice,
        code => CudaError::NotStarted { code },
    })
}

/// The CUDA version that the driver is for; can be asked before it is started.
fn version() -> Result<u32, CudaError> {
    let mut version = 0;
    // SAFETY: a library is present, the call is older than any that is supported, and the place
    // outlives it.
    let asked = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    answer("cuDriverGetVersion", asked.result())?;
    Ok(version.try_into().unwrap_or(0))
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
