//! Defines the CUDA backend's marker type and the queries that do not require a pool.

use pool_driver::deferred_frees::{DeferredFreeCounts, deferred_frees, retry_deferred_frees};
use pool_driver::error::CudaError;
use pool_driver::library;

use crate::stream::device::CudaDevice;
use crate::stream::thread;

/// A zero-sized marker type for pools with memory on NVIDIA devices.
///
/// Every function of `Cuda` can be called on a machine without a driver or a device. If the driver
/// or the device is missing, each function of `Cuda` returns an error that states which one is
/// missing. These functions never panic.
///
/// ```
/// use pool_cuda::{Cuda, CudaError};
///
/// match Cuda::device_count() {
///     Ok(count) => println!("{count} devices"),
///     Err(CudaError::NoLibrary) => println!("no NVIDIA driver here"),
///     Err(error) => println!("{error}"),
/// }
/// assert_eq!(Cuda::is_available(), Cuda::device_count().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuda;

impl Cuda {
    /// Returns `true` if a device is present and the driver supports CUDA 12.0 or newer.
    #[must_use]
    pub fn is_available() -> bool {
        Self::device_count().is_ok()
    }

    /// Returns the number of devices that the driver reports. This number is never 0.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NoLibrary`], [`CudaError::DriverTooOld`], [`CudaError::NotStarted`], or
    /// [`CudaError::NoDevice`], depending on the cause.
    pub fn device_count() -> Result<u32, CudaError> {
        library::device_count()
    }

    /// Opens the device with the given ordinal. Ordinals start at 0.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NoSuchDevice`], or any error from [`device_count`](Self::device_count).
    /// Returns [`CudaError::Call`] if the driver cannot retain the device's primary context.
    pub fn device(ordinal: u32) -> Result<CudaDevice, CudaError> {
        library::check_ordinal(ordinal)?;
        CudaDevice::open(ordinal)
    }

    /// Retries all deferred frees and returns the number of resources that still could not be
    /// freed. A free is deferred if the resource cannot be freed when its owner is dropped.
    ///
    /// If a pool is dropped during a capture, its blocks are freed later. Resources that the driver
    /// refuses to destroy are also freed later. The driver may refuse to destroy events, graphs,
    /// executable graphs, page-locked memory, device memory, and streams on which a capture has
    /// begun. The queue does not contain streams that belong to pools or to `pool-graph`'s probes.
    /// These streams belong to cudarc, which does not retry failed frees.
    ///
    /// Deferred frees are also retried when a pool allocates memory or is dropped, and when a
    /// capture by `pool-graph` ends. A program needs to call this function only if no later
    /// allocation, pool drop, or end of a capture would retry the frees.
    /// [`deferred_frees`](Self::deferred_frees) counts the deferred frees by kind.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn retry_deferred_frees() -> usize {
        retry_deferred_frees()
    }

    /// Returns the number of deferred frees by kind, without calling the driver.
    #[must_use]
    pub fn deferred_frees() -> DeferredFreeCounts {
        deferred_frees()
    }

    /// Selects the device for all pools that this thread creates later. Device 0 is the default.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NoSuchDevice`], or any error from [`device_count`](Self::device_count).
    /// If the call fails, the thread's selected device does not change.
    pub fn set_device(ordinal: u32) -> Result<(), CudaError> {
        library::check_ordinal(ordinal)?;
        thread::set_ordinal(ordinal);
        Ok(())
    }

    /// Returns the ordinal of the device selected by this thread.
    #[must_use]
    pub fn current_device() -> u32 {
        thread::ordinal()
    }
}
