//! Finds and opens a device, or describes why there is none.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;

use cudarc::driver::sys;

use super::library;
use super::refusal::{Outcome, Refusal};

/// The symbol that identifies the project's simulated driver.
const SIMULATOR_SYMBOL: &str = "simcuda_is_simulator";
/// Parts of the simulator's file name, after links have been resolved.
const SIMULATOR_FILES: [&str; 2] = ["cuda_sim", "simcuda"];
/// The start of the names of simulated devices.
const SIMULATOR_DEVICE: &str = "Simulated device";

/// The first device. Its primary context is bound to the thread that opened it.
#[derive(Debug)]
pub struct Device {
    handle: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: a device is an ordinal, and a primary context is a handle.
// The driver allows calls on both from any thread.
unsafe impl Send for Device {}
// SAFETY: the driver allows calls on the device and the context from any thread.
// No method changes the value.
unsafe impl Sync for Device {}

/// Properties of a device that are listed in a report.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The name that the driver returns.
    pub name: String,
    /// The unique ID, written as `GPU-…` in lower case.
    pub uuid: String,
    /// The compute capability.
    pub capability: (i32, i32),
    /// The size of the memory in bytes.
    pub bytes: usize,
}

/// Numeric attributes of a device.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Attribute {
    /// The major number of the compute capability.
    CapabilityMajor,
    /// The minor number of the compute capability.
    CapabilityMinor,
    /// 1 if the device supports stream-ordered allocation.
    MemoryPools,
    /// 1 if the device supports virtual memory management.
    VirtualMemory,
}

/// How the simulated driver was recognised. Each sign is sufficient, because a copy or another
/// build of the simulator may lack the other signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sign {
    /// The library exports a symbol that no other driver exports.
    Symbol,
    /// The name of the library's file belongs to the simulator.
    File,
    /// The name of the device belongs to the simulator.
    DeviceName,
}

/// Why no device can be used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoDevice {
    /// No driver library could be loaded.
    NoLibrary,
    /// The library is a stub from the toolkit, which is only for linking.
    Stub(PathBuf),
    /// The library is the simulated driver and not hardware. The sign is included.
    Simulator(Option<PathBuf>, Sign),
    /// There is a driver, but a call failed.
    Refused(&'static str, Refusal),
    /// There is a driver, but no device.
    NoneVisible,
}

impl fmt::Display for NoDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLibrary => formatter.write_str(
                "libcuda cannot be loaded: no NVIDIA driver is installed, or the dynamic loader \
                 does not find it (see LD_LIBRARY_PATH)",
            ),
            Self::Stub(path) => write!(
                formatter,
                "{} is a stub of the CUDA toolkit, not a driver: remove its directory from \
                 LD_LIBRARY_PATH",
                path.display()
            ),
            Self::Simulator(path, sign) => {
                let path = path.clone().unwrap_or_default();
                let path = path.display();
                write!(formatter, "{path} is the simulated driver, not hardware: {sign}")
            }
            Self::Refused(call, refusal) => write!(formatter, "{call} failed: {refusal}"),
            Self::NoneVisible => formatter
                .write_str("the driver sees no device (check CUDA_VISIBLE_DEVICES and nvidia-smi)"),
        }
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbol => write!(formatter, "it exports {SIMULATOR_SYMBOL}"),
            Self::File => formatter.write_str("the name of its file identifies it"),
            Self::DeviceName => write!(formatter, "its device is a {SIMULATOR_DEVICE}"),
        }
    }
}

impl std::error::Error for NoDevice {}

/// Returns `true` if kernels on one device can be given access to another device's memory. Both
/// devices are given by their ordinals.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn can_reach(reader: i32, owner: i32) -> Outcome<bool> {
    let mut can = 0;
    // SAFETY: the output variable outlives the call.
    // The driver refuses an invalid ordinal.
    unsafe { call!(cuDeviceCanAccessPeer(&raw mut can, reader, owner)) }?;
    Ok(can != 0)
}

impl Device {
    /// Opens the first device of a real driver and binds its primary context to this thread.
    ///
    /// # Errors
    ///
    /// Fails if there is no driver or no device, or if only a stub or a simulator is installed.
    pub fn open() -> Result<Self, NoDevice> {
        refuse_what_is_no_driver()?;
        let simulator = |sign| NoDevice::Simulator(library::loaded_file(), sign);
        if library::has(SIMULATOR_SYMBOL) {
            return Err(simulator(Sign::Symbol));
        }
        if library::loaded_file().is_some_and(|path| is_called_as_the_simulator(&path)) {
            return Err(simulator(Sign::File));
        }
        let device = Self::open_whatever_it_is()?;
        match device.name() {
            Ok(name) if name.starts_with(SIMULATOR_DEVICE) => Err(simulator(Sign::DeviceName)),
            Ok(_) => Ok(device),
            Err(refusal) => Err(NoDevice::Refused("cuDeviceGetName", refusal)),
        }
    }

    /// Opens the first device of a real or simulated driver, and binds its primary context to this
    /// thread.
    ///
    /// # Errors
    ///
    /// Fails if there is no driver or no device, or if only a stub is installed.
    pub fn open_hardware_or_simulator() -> Result<Self, NoDevice> {
        refuse_what_is_no_driver()?;
        Self::open_whatever_it_is()
    }

    fn open_whatever_it_is() -> Result<Self, NoDevice> {
        let refused = |call| move |refusal| NoDevice::Refused(call, refusal);
        // SAFETY: the call has no precondition except that the flags must be 0.
        unsafe { call!(cuInit(0)) }.map_err(refused("cuInit"))?;
        let mut count = 0;
        // SAFETY: the integer outlives the call.
        unsafe { call!(cuDeviceGetCount(&raw mut count)) }.map_err(refused("cuDeviceGetCount"))?;
        if count == 0 {
            return Err(NoDevice::NoneVisible);
        }
        let mut handle = 0;
        // SAFETY: the ordinal 0 is below the count.
        // The output variable outlives the call.
        unsafe { call!(cuDeviceGet(&raw mut handle, 0)) }.map_err(refused("cuDeviceGet"))?;
        let mut context = ptr::null_mut();
        // SAFETY: the driver returned the device.
        // The output variable outlives the call.
        unsafe { call!(cuDevicePrimaryCtxRetain(&raw mut context, handle)) }
            .map_err(refused("cuDevicePrimaryCtxRetain"))?;
        let device = Self { handle, context };
        device.bind().map_err(refused("cuCtxSetCurrent"))?;
        Ok(device)
    }

    /// Makes the device's context current on the calling thread.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn bind(&self) -> Outcome<()> {
        // SAFETY: the primary context was retained and is never released.
        unsafe { call!(cuCtxSetCurrent(self.context)) }
    }

    /// Waits until all work of the context has finished.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn synchronize(&self) -> Outcome<()> {
        // SAFETY: the call has no precondition.
        unsafe { call!(cuCtxSynchronize()) }
    }

    /// Returns a numeric attribute.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn attribute(&self, attribute: Attribute) -> Outcome<i32> {
        use sys::CUdevice_attribute_enum as Name;
        let name = match attribute {
            Attribute::CapabilityMajor => Name::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            Attribute::CapabilityMinor => Name::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            Attribute::MemoryPools => Name::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
            Attribute::VirtualMemory => {
                Name::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
            }
        };
        let mut value = 0;
        // SAFETY: the integer outlives the call.
        unsafe { call!(cuDeviceGetAttribute(&raw mut value, name, self.handle)) }?;
        Ok(value)
    }

    /// Returns the properties that are listed in a report.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn facts(&self) -> Outcome<Facts> {
        let capability = (
            self.attribute(Attribute::CapabilityMajor)?,
            self.attribute(Attribute::CapabilityMinor)?,
        );
        let mut bytes = 0;
        // SAFETY: the integer outlives the call.
        unsafe { call!(cuDeviceTotalMem_v2(&raw mut bytes, self.handle)) }?;
        Ok(Facts { name: self.name()?, uuid: self.uuid()?, capability, bytes })
    }

    fn name(&self) -> Outcome<String> {
        let mut text: [c_char; 256] = [0; 256];
        let length = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
        // SAFETY: the buffer has the stated number of bytes.
        unsafe { call!(cuDeviceGetName(text.as_mut_ptr(), length, self.handle)) }?;
        // SAFETY: the driver terminates the text with a zero byte within the stated length.
        let name = unsafe { CStr::from_ptr(text.as_ptr()) };
        Ok(name.to_string_lossy().into_owned())
    }

    fn uuid(&self) -> Outcome<String> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: the output variable outlives the call.
        unsafe { call!(cuDeviceGetUuid_v2(&raw mut uuid, self.handle)) }?;
        let hex = uuid.bytes.map(|byte| format!("{:02x}", byte.to_ne_bytes()[0])).concat();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    /// Returns the driver's handle for the device.
    pub(super) fn handle(&self) -> sys::CUdevice {
        self.handle
    }

    /// Returns the device's primary context.
    pub(super) fn context(&self) -> sys::CUcontext {
        self.context
    }
}

/// Returns the CUDA version that the driver supports, as 1000 × major + 10 × minor. This can be
/// called before the driver is initialised.
///
/// # Errors
///
/// Returns the driver's error code, or an error if there is no driver.
pub fn driver_version() -> Outcome<i32> {
    let mut version = 0;
    // SAFETY: the integer outlives the call.
    unsafe { call!(cuDriverGetVersion(&raw mut version)) }?;
    Ok(version)
}

fn is_called_as_the_simulator(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    SIMULATOR_FILES.iter().any(|part| name.contains(part))
}

fn refuse_what_is_no_driver() -> Result<(), NoDevice> {
    if !library::is_present() {
        return Err(NoDevice::NoLibrary);
    }
    let file = library::loaded_file();
    match file {
        Some(path) if path.components().any(|part| part.as_os_str() == "stubs") => {
            Err(NoDevice::Stub(path))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::is_called_as_the_simulator;

    #[test]
    fn files_of_the_simulator_are_known_by_their_names() {
        for name in ["libcuda_sim.so", "libsimcuda.so.1", "cuda_sim.dll"] {
            assert!(is_called_as_the_simulator(&Path::new("/t/deps").join(name)), "{name}");
        }
        for name in ["libcuda.so.580.95.05", "libcuda.so.1", "libcuda.so.1.1"] {
            assert!(!is_called_as_the_simulator(&Path::new("/t/cuda_sim").join(name)), "{name}");
        }
    }
}
