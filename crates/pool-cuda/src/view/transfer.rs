//! Copies and fills of bytes on the pool's stream, by address, for the backend and its views. Only
//! a copy to the host waits for the device.

use pool_driver::calls::{self, Address};
use pool_driver::error::CudaError;

use crate::stream::device_stream::DeviceStream;

/// Sets bytes.
///
/// # Safety
///
/// The range must be allocated. The caller must own the right to write it in the pool's stream.
pub(crate) unsafe fn set_bytes(
    stream: &DeviceStream,
    to: Address,
    value: u8,
    bytes: usize,
) -> Result<(), CudaError> {
    if stream.is_dry() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { calls::set_bytes(to, value, bytes, stream.stream()) }
}

/// Copies bytes within the stream's context.
///
/// # Safety
///
/// Both ranges must be allocated and disjoint. The caller must own the right to use them in the
/// pool's stream.
pub(crate) unsafe fn copy(
    stream: &DeviceStream,
    to: Address,
    from: Address,
    bytes: usize,
) -> Result<(), CudaError> {
    if stream.is_dry() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { calls::copy_on_device(to, from, bytes, stream.stream()) }
}

/// Copies bytes from the host. When this returns, `from` has been read.
///
/// # Safety
///
/// Same as for [`set_bytes`].
pub(crate) unsafe fn upload(
    stream: &DeviceStream,
    to: Address,
    from: &[u8],
) -> Result<(), CudaError> {
    stream.bind_outside_capture("copy from the host")?;
    // SAFETY: the caller's promise.
    unsafe { stream.staging().upload(to, from, stream.stream()) }
}

/// Copies bytes to the host, and waits for them.
///
/// # Safety
///
/// The range must be allocated. The caller must own the right to read it in the pool's stream.
pub(crate) unsafe fn download(
    stream: &DeviceStream,
    to: &mut [u8],
    from: Address,
) -> Result<(), CudaError> {
    stream.bind_outside_capture("copy to the host")?;
    // SAFETY: the caller's promise.
    unsafe { stream.staging().download(to, from, stream.stream()) }
}
