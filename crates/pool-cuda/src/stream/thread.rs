//! What a thread has chosen: its device, and one stream for each device that it uses.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::cuda::Cuda;
use crate::driver::chain::Chain;
use crate::driver::error::CudaError;
use crate::stream::device::CudaDevice;

/// A device, and a stream of it.
type Chosen = (CudaDevice, Arc<CudaStream>);

thread_local! {
    /// The ordinal of the chosen device; without a destructor, so it can be asked at any time.
    static ORDINAL: Cell<u32> = const { Cell::new(0) };
    /// The devices that the thread uses, with its stream of each. Borrowed for a look, and for linking and
    /// unlinking.
    static STREAMS: RefCell<Chain<Chosen>> = const { RefCell::new(Chain::new()) };
}

pub(crate) fn set_ordinal(ordinal: u32) {
    ORDINAL.set(ordinal);
}

pub(crate) fn ordinal() -> u32 {
    ORDINAL.get()
}

fn find(streams: &Chain<Chosen>, ordinal: u32) -> Option<Chosen> {
    streams.iter().find(|(device, _)| device.ordinal() == ordinal).cloned()
}

/// The chosen device and the thread's stream of it. Where the thread ends already, both are made for the
/// caller alone.
pub(crate) fn device_and_stream() -> Result<Chosen, CudaError> {
    let ordinal = ordinal();
    let known = STREAMS.try_with(|streams| find(&streams.borrow(), ordinal));
    if let Ok(Some(known)) = known {
        return Ok(known);
    }
    let device = Cuda::device(ordinal)?;
    let stream = device.raw_stream()?;
    let made = (device, stream);
    let mut link = Chain::of(made.clone())?;
    let known = STREAMS.try_with(|streams| {
        let mut streams = streams.borrow_mut();
        // A hook of the allocator may have asked for the same meanwhile, and got its own.
        let known = find(&streams, ordinal);
        if known.is_none() {
            streams.add(mem::take(&mut link));
        }
        known
    });
    Ok(known.ok().flatten().unwrap_or(made))
}

/// Whether a stream is the thread's for the chosen device. True for any of the device where the thread
/// ends already and has none.
pub(crate) fn is_stream(device: &CudaDevice, stream: &Arc<CudaStream>) -> bool {
    if device.ordinal() != ordinal() {
        return false;
    }
    let is_here = |streams: &RefCell<Chain<Chosen>>| {
        streams.borrow().iter().any(|(_, known)| Arc::ptr_eq(known, stream))
    };
    STREAMS.try_with(is_here).unwrap_or(true)
}

/// Makes a stream the thread's own for its device, for pools that are made from now on.
///
/// # Errors
///
/// [`CudaError::WrongContext`] for the per-thread default stream, [`CudaError::Bookkeeping`] where the host
/// has no memory to note it, and [`CudaError::Call`] where the driver refuses a memory pool.
pub fn set_stream(stream: Arc<CudaStream>) -> Result<(), CudaError> {
    if crate::stream::device_stream::is_per_thread(&stream) {
        let ordinal = crate::stream::device::ordinal(stream.context());
        return Err(CudaError::WrongContext { ordinal });
    }
    let device = CudaDevice::of_context(Arc::clone(stream.context()))?;
    let ordinal = device.ordinal();
    let link = Chain::of((device, stream))?;
    let replaced = STREAMS.try_with(|streams| {
        let mut streams = streams.borrow_mut();
        let replaced = streams.unlink(|(known, _)| known.ordinal() == ordinal);
        streams.add(link);
        replaced
    });
    // Outside of the borrow: a device gives its memory pool back.
    drop(replaced);
    Ok(())
}
