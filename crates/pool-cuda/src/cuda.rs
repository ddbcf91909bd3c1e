//! The marker type of the backend, and queries that need no pool.

use pool_driver::error::CudaError;
use pool_driver::leftovers::{Leftovers, give_back_leftovers, leftovers};
use pool_driver::library;

use crate::stream::device::CudaDevice;
use crate::stream::thread;

/// Memory of NVIDIA devices. This zero-sized marker names the backend of a pool.
///
/// Every function here can be called without a driver and without a device. It then returns an
/// error that names the missing component, and never panics.
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
    /// Returns `true` if a sufficiently new driver and a device are present.
    #[must_use]
    pub fn is_available() -> bool {
        Self::device_count().is_ok()
    }

    /// Returns the number of devices that the driver reports; never 0.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NoLibrary`], [`CudaError::DriverTooOld`], [`CudaError::NotStarted`] or
    /// [`CudaError::NoDevice`], depending on which component is missing.
    pub fn device_count() -> Result<u32, CudaError> {
        library::device_count()
    }

    /// Opens the device with this ordinal, counted from 0.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NoSuchDevice`], any error of [`device_count`](Self::device_count), or
    /// [`CudaError::Call`] if the device's primary context cannot be retained.
    pub fn device(ordinal: u32) -> Result<CudaDevice, CudaError> {
        library::check_ordinal(ordinal)?;
        CudaDevice::open(ordinal)
    }

    /// Retries the frees of objects that could not be freed when their owner was dropped, and
    /// returns the number of objects that remain. [`leftovers`](Self::leftovers) counts them by
    /// kind. They are the blocks of pools that ended during a capture, and all resources that the
    /// driver refused to destroy: streams on which captures began, events, graphs, executable
    /// graphs, page-locked memory and device memory. The streams of pools and of probes belong to
    /// cudarc, whose destructor does not retry.
    ///
    /// The frees are also retried when a pool allocates or is dropped, and when a capture by
    /// `pool-graph` ends. Call this function if none of these will happen.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn give_back_leftovers() -> usize {
        give_back_leftovers()
    }

    /// Counts the deferred frees by kind, without calling the driver.
    #[must_use]
    pub fn leftovers() -> Leftovers {
        leftovers()
    }

    /// Chooses the device for this thread's new pools. The default is device 0.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NoSuchDevice`] or any error of [`device_count`](Self::device_count).
    /// The choice is then unchanged.
    pub fn set_device(ordinal: u32) -> Result<(), CudaError> {
        library::check_ordinal(ordinal)?;
        thread::set_ordinal(ordinal);
        Ok(())
    }

    /// Returns the ordinal of the device that this thread has chosen.
    #[must_use]
    pub fn current_device() -> u32 {
        thread::ordinal()
    }
}
