//! The marker of the backend, and queries that need no pool.

use pool_driver::error::CudaError;
use pool_driver::leftovers::{Leftovers, give_back_leftovers, leftovers};
use pool_driver::library;

use crate::stream::device::CudaDevice;
use crate::stream::thread;

/// The memory of NVIDIA devices. A zero-sized marker: name it as the backend of a pool.
///
/// Every function here may be called without a driver and without a device. It then returns an
/// error that names the missing part, and never panics.
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
    /// Returns `true` if there is a driver that is new enough, and a device.
    #[must_use]
    pub fn is_available() -> bool {
        Self::device_count().is_ok()
    }

    /// Returns the number of devices that the driver sees; never 0.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoLibrary`], [`CudaError::DriverTooOld`], [`CudaError::NotStarted`] or
    /// [`CudaError::NoDevice`] names the missing part.
    pub fn device_count() -> Result<u32, CudaError> {
        library::device_count()
    }

    /// Opens a device by its ordinal, counted from 0.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoSuchDevice`], all of [`device_count`](Self::device_count), and
    /// [`CudaError::Call`] if the device's context cannot be retained.
    pub fn device(ordinal: u32) -> Result<CudaDevice, CudaError> {
        library::check_ordinal(ordinal)?;
        CudaDevice::open(ordinal)
    }

    /// Retries the frees of objects that could not be freed when their owner was dropped. These are blocks of pools
    /// that ended during a capture, and every resource that the driver refused to destroy: streams that captures began
    /// on, events, graphs, executable graphs, page-locked and device memory. Returns the number of those left;
    /// [`leftovers`](Self::leftovers) counts them by kind. The streams of pools and of probes are cudarc's, whose
    /// destructor does not retry.
    ///
    /// Retries also run when a pool allocates or is dropped, and when a capture of `pool-graph`
    /// ends. Call this function if none of these will happen.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn give_back_leftovers() -> usize {
        give_back_leftovers()
    }

    /// Counts the deferred frees by kind. Makes no call of the driver.
    #[must_use]
    pub fn leftovers() -> Leftovers {
        leftovers()
    }

    /// Chooses the device for new pools of this thread; 0 until this is called.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoSuchDevice`] and all of [`device_count`](Self::device_count); the choice then
    /// does not change.
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
