//! What a thread has chosen: its device, and one stream for each device that it uses.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::cuda::Cuda;
use crate::device::CudaDevice;
use crate::error::CudaError;

thread_local! {
    /// The ordinal of the chosen device; without a destructor, so it can be asked at any time.
    static ORDINAL: Cell<u32> = const { Cell::new(0) };
    /// The devices that the thread uses, with its stream of each.
    static STREAMS: RefCell<Vec<(CudaDevice, Arc<CudaStream>)>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn set_ordinal(ordinal: u32) {
    ORDINAL.set(ordinal);
}

pub(crate) fn ordinal() -> u32 {
    ORDINAL.get()
}

/// The chosen device and the thread's stream of it. Where the thread ends already, both are made for the
/// caller alone.
pub(crate) fn device_and_stream() -> Result<(CudaDevice, Arc<CudaStream>), CudaError> {
    let ordinal = ordinal();
    let of_ordinal = |(device, _): &&(CudaDevice, Arc<CudaStream>)| device.ordinal() == ordinal;
    let known = STREAMS.try_with(|streams| streams.borrow().iter().find(of_ordinal).cloned());
    if let Ok(Some(known)) = known {
        return Ok(known);
    }
    let device = Cuda::device(ordinal)?;
    let stream = device.raw_stream()?;
    let made = (device, stream);
    let _ = STREAMS.try_with(|streams| streams.borrow_mut().push(made.clone()));
    Ok(made)
}

/// Whether a stream is the thread's for the chosen device. True for any of the device where the thread
/// ends already and has none.
pub(crate) fn is_stream(device: &CudaDevice, stream: &Arc<CudaStream>) -> bool {
    if device.ordinal() != ordinal() {
        return false;
    }
    let is_here = |streams: &RefCell<Vec<(CudaDevice, Arc<CudaStream>)>>| {
        streams.borrow().iter().any(|(_, known)| Arc::ptr_eq(known, stream))
    };
    STREAMS.try_with(is_here).unwrap_or(true)
}

/// Makes a stream the thread's own for its device, for pools that are made from now on.
///
/// # Errors
///
/// [`CudaError::WrongContext`] for the per-thread default stream, and [`CudaError::Call`] where the
/// driver refuses a memory pool.
pub fn set_stream(stream: Arc<CudaStream>) -> Result<(), CudaError> {
    if crate::stream::is_per_thread(&stream) {
        let ordinal = crate::device::ordinal(stream.context());
        return Err(CudaError::WrongContext { ordinal });
    }
    let device = CudaDevice::of_context(Arc::clone(stream.context()))?;
    let _ = STREAMS.try_with(|streams| {
        let mut streams = streams.borrow_mut();
        streams.retain(|(known, _)| known.ordinal() != device.ordinal());
        streams.push((device, stream));
    });
    Ok(())
}
