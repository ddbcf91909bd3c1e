//! The stream of a thread, and the device of the process. Threads that chose no stream share this
//! device.

use std::cell::RefCell;

use crate::error::WgpuError;
use crate::stream::Stream;

thread_local! {
    /// Borrowed only to read it or to replace it.
    static STREAM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

impl Stream {
    /// Returns the stream of the calling thread. If the thread chose none, the first call makes
    /// one, on a device that such threads of the process share.
    ///
    /// In a browser there is only the stream that was [chosen](Self::set_for_thread).
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open); [`WgpuError::ThreadEnding`] in the destructor of a
    /// thread-local variable, after the thread's stream was dropped; in a browser
    /// [`WgpuError::NoAdapter`] if no stream was chosen.
    pub fn for_thread() -> Result<Self, WgpuError> {
        if let Ok(Some(known)) = STREAM.try_with(|stream| stream.borrow().clone()) {
            return Ok(known);
        }
        let new = of_process()?;
        let known = STREAM.try_with(|stream| {
            // A callback of wgpu may have made the same call meanwhile, and already got a stream.
            stream.borrow_mut().get_or_insert_with(|| new.clone()).clone()
        });
        Ok(known.unwrap_or(new))
    }

    /// Makes this the calling thread's stream, for pools that are made from now on. Changes nothing
    /// if the thread is already ending.
    pub fn set_for_thread(&self) {
        if self.check_thread().is_err() {
            return;
        }
        let new = self.clone();
        // The replaced stream is dropped outside of the borrow: it may be the last of its device.
        drop(STREAM.try_with(|stream| stream.borrow_mut().replace(new)));
    }

    /// Returns `true` if this is the calling thread's stream, or a clone of it. Always `true` if
    /// the thread is already ending.
    #[must_use]
    pub fn is_for_thread(&self) -> bool {
        let is_same = |known: &Self| known.is_same(self);
        STREAM.try_with(|stream| stream.borrow().as_ref().is_some_and(is_same)).unwrap_or(true)
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn of_process() -> Result<Stream, WgpuError> {
    use std::sync::{Mutex, PoisonError};

    static DEVICE: Mutex<Option<(wgpu::Device, wgpu::Queue)>> = Mutex::new(None);

    // Locked only to read it or to replace it: opening a device takes long, and runs foreign code.
    let known = DEVICE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((device, queue)) = known {
        match Stream::new(device, queue) {
            // Another is opened.
            Err(WgpuError::DeviceLost) => {}
            answer => return answer,
        }
    }
    let stream = Stream::open()?;
    let own = (stream.device().clone(), stream.queue().clone());
    let replaced = DEVICE.lock().unwrap_or_else(PoisonError::into_inner).replace(own);
    drop(replaced);
    Ok(stream)
}

#[cfg(target_arch = "wasm32")]
fn of_process() -> Result<Stream, WgpuError> {
    let message =
        "a browser's adapters must be awaited: open a stream, and set it for the thread".to_owned();
    Err(WgpuError::NoAdapter { message })
}
