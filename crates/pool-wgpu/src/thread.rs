//! Stores each thread's stream and the device that the threads share. Every thread that has not set
//! a stream uses this device.

use std::cell::RefCell;

use crate::error::WgpuError;
use crate::stream::Stream;

thread_local! {
    /// The current thread's stream. The cell is borrowed only while the stream is read or replaced.
    static STREAM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

impl Stream {
    /// Returns the calling thread's stream. If the thread has no stream, the first call creates
    /// one. All threads that have not set a stream use the same device.
    ///
    /// In a browser, [set](Self::set_for_thread) a stream for the thread before you call this
    /// function.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`open`](Self::open). Returns [`WgpuError::ThreadEnding`] if the
    /// destructor of a thread-local variable calls the function after the thread's stream has been
    /// dropped. In a browser, this function returns [`WgpuError::NoAdapter`] if no stream has been
    /// set for the thread.
    pub fn for_thread() -> Result<Self, WgpuError> {
        if let Ok(Some(known)) = STREAM.try_with(|stream| stream.borrow().clone()) {
            return Ok(known);
        }
        let new = of_process()?;
        let known = STREAM.try_with(|stream| {
            // A wgpu callback might have called this function and set the stream since the first
            // check.
            stream.borrow_mut().get_or_insert_with(|| new.clone()).clone()
        });
        Ok(known.unwrap_or(new))
    }

    /// Makes this stream the calling thread's stream. All pools that the thread creates later use
    /// this stream. If the thread is ending, this method has no effect.
    pub fn set_for_thread(&self) {
        if self.check_thread().is_err() {
            return;
        }
        let new = self.clone();
        // The previous stream is dropped once the cell's borrow has ended, because dropping a
        // stream may drop its device.
        drop(STREAM.try_with(|stream| stream.borrow_mut().replace(new)));
    }

    /// Returns `true` if the calling thread's stream is this stream or one of its clones. If the
    /// thread is ending, this method always returns `true`.
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

    // The lock is held only while the device is read or replaced, because opening a device is slow
    // and runs user code.
    let known = DEVICE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((device, queue)) = known {
        match Stream::new(device, queue) {
            // The shared device is lost, so this function opens a new device.
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
