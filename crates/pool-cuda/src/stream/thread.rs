//! Stores the device that a thread has selected and the thread's stream on each device.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_driver::chain::Chain;
use pool_driver::default_stream::refuse_per_thread;
use pool_driver::error::CudaError;
use pool_driver::library::check_ordinal;

use crate::stream::device::CudaDevice;

/// A device that a thread uses, and the thread's stream on this device.
type ThreadStream = (CudaDevice, Arc<CudaStream>);

thread_local! {
    /// The ordinal of the device selected by the thread. This value has no destructor, so it can be
    /// read at any time, even while the thread is ending.
    static ORDINAL: Cell<u32> = const { Cell::new(0) };
    /// The devices that the thread uses, and the thread's stream on each device. The cell is
    /// borrowed only while the list is searched or entries are added or removed.
    static STREAMS: RefCell<Chain<ThreadStream>> = const { RefCell::new(Chain::new()) };
}

/// Selects the device with this ordinal for the calling thread.
pub(crate) fn set_ordinal(ordinal: u32) {
    ORDINAL.set(ordinal);
}

/// Returns the ordinal of the device selected by the calling thread.
pub(crate) fn ordinal() -> u32 {
    ORDINAL.get()
}

fn find(streams: &Chain<ThreadStream>, ordinal: u32) -> Option<ThreadStream> {
    streams.iter().find(|(device, _)| device.ordinal() == ordinal).cloned()
}

/// Returns the selected device and the thread's stream on this device. The first call on a thread
/// opens the device and creates the stream. While the thread is ending, each call reopens the
/// device and creates a new stream for its caller.
pub(crate) fn device_and_stream() -> Result<ThreadStream, CudaError> {
    let ordinal = ordinal();
    let known = STREAMS.try_with(|streams| find(&streams.borrow(), ordinal));
    if let Ok(Some(known)) = known {
        return Ok(known);
    }
    check_ordinal(ordinal)?;
    let device = CudaDevice::open(ordinal)?;
    let stream = device.raw_stream()?;
    let new = (device, stream);
    let mut link = Chain::of(new.clone())?;
    let known = STREAMS.try_with(|streams| {
        let mut streams = streams.borrow_mut();
        // An allocator hook might have called this function and created a stream since the lookup.
        let known = find(&streams, ordinal);
        if known.is_none() {
            streams.add(mem::take(&mut link));
        }
        known
    });
    Ok(known.ok().flatten().unwrap_or(new))
}

/// Returns `true` if a stream is the thread's stream for the selected device. If the thread is
/// ending and has already dropped its list of streams, this function returns `true` for every
/// stream on the device.
pub(crate) fn is_stream(device: &CudaDevice, stream: &Arc<CudaStream>) -> bool {
    if device.ordinal() != ordinal() {
        return false;
    }
    let is_here = |streams: &RefCell<Chain<ThreadStream>>| {
        streams.borrow().iter().any(|(_, known)| Arc::ptr_eq(known, stream))
    };
    STREAMS.try_with(is_here).unwrap_or(true)
}

/// Sets the stream that the thread uses on `stream`'s device (see `DeviceStream::set_for_thread`).
pub(crate) fn set_stream(stream: Arc<CudaStream>) -> Result<(), CudaError> {
    refuse_per_thread(&stream)?;
    let device = CudaDevice::of_context(Arc::clone(stream.context()))?;
    let ordinal = device.ordinal();
    let link = Chain::of((device, stream))?;
    let replaced = STREAMS.try_with(|streams| {
        let mut streams = streams.borrow_mut();
        let replaced = streams.unlink(|(known, _)| known.ordinal() == ordinal);
        streams.add(link);
        replaced
    });
    // The previous device is dropped after the cell's borrow has ended, because dropping a device
    // frees its memory pool.
    drop(replaced);
    Ok(())
}
