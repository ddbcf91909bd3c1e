//! Each thread's stream, and the process's device. Threads that did not choose a stream share this
//! device.

use std::cell::RefCell;

use crate::error::WgpuError;
use crate::stream::Stream;

thread_local! {
    /// The stream is borrowed only while it is read or replaced.
    static STREAM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

impl Stream {
    /// Returns the calling thread's stream. If the thread has not chosen a stream, the first call
    /// creates one, on a device that all such threads of the process share.
    ///
    /// In a browser, only a [chosen](Self::set_for_thread) stream is available.
    ///
    /// # Errors
    ///
    /// The same as [`open`](Self::open); [`WgpuError::ThreadEnding`] in the destructor of a
    /// thread-local variable, once the thread's stream has been dropped; in a browser,
    /// [`WgpuError::NoAdapter`] if no stream was chosen.
    pub fn for_thread() -> Result<Self, WgpuError> {
        if let Ok(Some(known)) = STREAM.try_with(|stream| stream.borrow().clone()) {
            return Ok(known);
        }
        let new = of_process()?;
        let known = STREAM.try_with(|stream| {
            // A callback of wgpu may have made the same call in the meantime, and may already have
            // received a stream.
            stream.borrow_mut().get_or_insert_with(|| new.clone()).clone()
        });
        Ok(known.unwrap_or(new))
    }

    /// Makes this the calling thread's stream, for pools that are created from now on. Has no
    /// effect if the thread is ending.
    pub fn set_for_thread(&self) {
        if self.check_thread().is_err() {
            return;
        }
        let new = self.clone();
        // The old stream is dropped after the borrow ends, because its destructor may drop the
        // device.
        drop(STREAM.try_with(|stream| stream.borrow_mut().replace(new)));
    }

    /// Returns `true` if the calling thread's stream is this stream or a clone of it. Also returns
    /// `true` if the thread is ending.
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

    // The lock is held only while the device is read or replaced: opening a device is slow, and
    // runs foreign code.
    let known = DEVICE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((device, queue)) = known {
        match Stream::new(device, queue) {
            // The shared device is lost, so another one is opened.
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
        "a browser returns adapters asynchronously: open a stream, and set the thread's stream"
            .to_owned();
    Err(WgpuError::NoAdapter { message })
}
