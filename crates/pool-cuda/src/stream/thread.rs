//! A thread's choices: its device, and one stream for each device that it uses.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_driver::chain::Chain;
use pool_driver::default_stream::refuse_per_thread;
use pool_driver::error::CudaError;
use pool_driver::library::check_ordinal;

use crate::stream::device::CudaDevice;

/// A device that a thread uses, and the thread's stream of it.
type ThreadStream = (CudaDevice, Arc<CudaStream>);

thread_local! {
    /// The ordinal of the chosen device. It has no destructor, so it can be read at any time.
    static ORDINAL: Cell<u32> = const { Cell::new(0) };
    /// The devices that the thread uses, with its stream of each. Borrowed only to search, link and
    /// unlink.
    static STREAMS: RefCell<Chain<ThreadStream>> = const { RefCell::new(Chain::new()) };
}

/// Chooses the device of this thread by its ordinal.
pub(crate) fn set_ordinal(ordinal: u32) {
    ORDINAL.set(ordinal);
}

/// Returns the ordinal of the device that this thread has chosen.
pub(crate) fn ordinal() -> u32 {
    ORDINAL.get()
}

fn find(streams: &Chain<ThreadStream>, ordinal: u32) -> Option<ThreadStream> {
    streams.iter().find(|(device, _)| device.ordinal() == ordinal).cloned()
}

/// Returns the chosen device and the thread's stream of it, created at the first call. If the
/// thread is ending, both are created for the caller alone.
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
        // A hook of the allocator may have made the same request meanwhile, and got a stream
        // already.
        let known = find(&streams, ordinal);
        if known.is_none() {
            streams.add(mem::take(&mut link));
        }
        known
    });
    Ok(known.ok().flatten().unwrap_or(new))
}

/// Returns `true` if a stream is the thread's own for the chosen device. If the thread is ending
/// and has no own streams any more, this is `true` for every stream of the device.
pub(crate) fn is_stream(device: &CudaDevice, stream: &Arc<CudaStream>) -> bool {
    if device.ordinal() != ordinal() {
        return false;
    }
    let is_here = |streams: &RefCell<Chain<ThreadStream>>| {
        streams.borrow().iter().any(|(_, known)| Arc::ptr_eq(known, stream))
    };
    STREAMS.try_with(is_here).unwrap_or(true)
}

/// Makes a stream the thread's own for its device; see `DeviceStream::set_for_thread`.
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
    // The device is dropped outside the borrow, because that frees its memory pool.
    drop(replaced);
    Ok(())
}
