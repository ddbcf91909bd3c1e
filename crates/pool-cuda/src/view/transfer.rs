//! Copies and fills device memory on the pool's stream. The backend and its views call these
//! functions with raw addresses. Only a copy to the host blocks until the device has completed the
//! copy.

use pool_driver::calls::{self, Address};
use pool_driver::error::CudaError;

use crate::stream::device_stream::DeviceStream;

/// Sets every byte of a range to the given value.
///
/// # Safety
///
/// The range must be allocated, and the caller must be permitted to write it in stream order on the
/// pool's stream.
pub(crate) unsafe fn set_bytes(
    stream: &DeviceStream,
    to: Address,
    value: u8,
    bytes: usize,
) -> Result<(), CudaError> {
    if stream.is_dry() {
        return Ok(());
    }
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { calls::set_bytes(to, value, bytes, stream.stream()) }
}

/// Copies bytes between two ranges in the stream's context.
///
/// # Safety
///
/// Both ranges must be allocated and must not overlap. The caller must be permitted to use both
/// ranges in stream order on the pool's stream.
pub(crate) unsafe fn copy(
    stream: &DeviceStream,
    to: Address,
    from: Address,
    bytes: usize,
) -> Result<(), CudaError> {
    if stream.is_dry() {
        return Ok(());
    }
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { calls::copy_on_device(to, from, bytes, stream.stream()) }
}

/// Copies bytes from the host to the device. This function has finished reading `from` when it
/// returns.
///
/// # Safety
///
/// The safety contract of [`set_bytes`] applies.
pub(crate) unsafe fn upload(
    stream: &DeviceStream,
    to: Address,
    from: &[u8],
) -> Result<(), CudaError> {
    stream.bind_outside_capture("copy from the host")?;
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { stream.staging().upload(to, from, stream.stream()) }
}

/// Copies bytes from the device to the host and blocks until the copy is complete.
///
/// # Safety
///
/// The range must be allocated, and the caller must be permitted to read it in stream order on the
/// pool's stream.
pub(crate) unsafe fn download(
    stream: &DeviceStream,
    to: &mut [u8],
    from: Address,
) -> Result<(), CudaError> {
    stream.bind_outside_capture("copy to the host")?;
    // SAFETY: the caller upholds this function's safety contract.
    unsafe { stream.staging().download(to, from, stream.stream()) }
}
