//! The marker of the backend, and the questions that can be asked before there is a pool.

use pool_driver::error::CudaError;
use pool_driver::leftovers::{Leftovers, give_back_leftovers, leftovers};
use pool_driver::library;

use crate::stream::device::CudaDevice;
use crate::stream::thread;

/// The memory of NVIDIA devices. A marker of no size: name it as the backend of a pool.
///
/// Everything here can be asked where there is no driver and no device: the answer is then an error
/// that says so, never a panic.
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
    /// Whether there is a driver that is new enough, and a device.
    #[must_use]
    pub fn is_available() -> bool {
        Self::device_count().is_ok()
    }

    /// How many devices the driver sees; never 0.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoLibrary`], [`CudaError::DriverTooOld`], [`CudaError::NotStarted`] and
    /// [`CudaError::NoDevice`] say what is missing.
    pub fn device_count() -> Result<u32, CudaError> {
        library::device_count()
    }

    /// A device by its ordinal, counted from 0.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoSuchDevice`], all of [`device_count`](Self::device_count), and
    /// [`CudaError::Call`] where the device's context cannot be had.
    pub fn device(ordinal: u32) -> Result<CudaDevice, CudaError> {
        library::check_ordinal(ordinal)?;
        CudaDevice::open(ordinal)
    }

    /// Tries again to give back what could not be given back when its owner was dropped: blocks of pools that ended
    /// during a capture, and every resource that the driver refused to take back (streams that captures began on, events,
    /// graphs, executables, page-locked and device memory). Returns how many are left; [`leftovers`](Self::leftovers) has
    /// them by kind. The streams of pools and of probes are cudarc's, whose destructor does not try again.
    ///
    /// The same happens by itself whenever a pool allocates or is dropped, and when a capture of `pool-graph` ends. Call
    /// this where none of these will happen.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn give_back_leftovers() -> usize {
        give_back_leftovers()
    }

    /// Counts what is left over now, by kind. Asks the driver nothing.
    #[must_use]
    pub fn leftovers() -> Leftovers {
        leftovers()
    }

    /// Chooses the device that this thread's pools are on from now on; 0 until it is called.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoSuchDevice`] and all of [`device_count`](Self::device_count); the choice then
    /// stays as it was.
    pub fn set_device(ordinal: u32) -> Result<(), CudaError> {
        library::check_ordinal(ordinal)?;
        thread::set_ordinal(ordinal);
        Ok(())
    }

    /// The device that this thread has chosen.
    #[must_use]
    pub fn current_device() -> u32 {
        thread::ordinal()
    }
}
