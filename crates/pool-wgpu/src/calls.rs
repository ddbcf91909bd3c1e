//! Calls of wgpu that return errors as values: error scopes, and the loss of the device.
//!
//! wgpu reports a lost device only to a callback, and there is only one, which belongs to the user.
//! So the device is asked, because the calls of a lost device return no error that names the loss.
//! In a browser, a device has a promise of its loss instead, on which several callbacks may wait;
//! the event loop calls them.

use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use crate::ending;
use crate::error::WgpuError;
use crate::turn::current_thread;

/// The number of tries to find out the device of a queue.
const QUEUE_TRIES: usize = 100;

/// A device and its queue, with error handling.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    is_lost: Arc<AtomicBool>,
    /// A buffer that [`check_thread`](Self::check_thread) reads.
    probe: wgpu::Buffer,
}

impl Calls {
    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let descriptor = wgpu::BufferDescriptor {
            label: Some("pool-wgpu probe"),
            size: 4,
            usage: wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        };
        let probe = device.create_buffer(&descriptor);
        let is_lost = Arc::new(AtomicBool::new(false));
        if cfg!(target_arch = "wasm32") {
            // The callback lives as long as the device.
            let noted = Arc::downgrade(&is_lost);
            device.set_device_lost_callback(move |_, _| {
                if let Some(is_lost) = noted.upgrade() {
                    is_lost.store(true, Ordering::Relaxed);
                }
            });
        }
        Self { device, queue, is_lost, probe }
    }

    /// Checks that this thread may call wgpu.
    ///
    /// # Errors
    ///
    /// [`WgpuError::ThreadEnding`].
    #[inline]
    pub(crate) fn check_thread(&self) -> Result<(), WgpuError> {
        // wgpu makes its variables of a thread when it accesses a buffer. This one is not mapped,
        // and the result is ignored.
        ending::check_thread(|| drop(self.probe.get_mapped_range(..)))
    }

    /// Checks that the device was not found to be lost, without a call of wgpu.
    ///
    /// # Errors
    ///
    /// [`WgpuError::DeviceLost`].
    #[inline]
    pub(crate) fn check(&self) -> Result<(), WgpuError> {
        if self.is_lost.load(Ordering::Relaxed) { Err(WgpuError::DeviceLost) } else { Ok(()) }
    }

    /// Records that the device is lost.
    pub(crate) fn note_loss(&self) -> WgpuError {
        self.is_lost.store(true, Ordering::Relaxed);
        WgpuError::DeviceLost
    }

    /// Runs calls of the device, and returns the first error that wgpu reports meanwhile.
    ///
    /// In a browser errors arrive later, at the device's handler of uncaptured errors.
    ///
    /// # Errors
    ///
    /// wgpu's error.
    pub(crate) fn scoped<R>(&self, calls: impl FnOnce() -> R) -> Result<R, wgpu::Error> {
        if cfg!(target_arch = "wasm32") {
            return Ok(calls());
        }
        let out_of_memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let answer = calls();
        // Innermost first. A buffer without memory is also invalid, so the lack of memory is
        // reported first.
        let validation = ready(validation.pop());
        let internal = ready(internal.pop());
        let error = ready(out_of_memory.pop()).or(internal).or(validation);
        error.map_or(Ok(answer), Err)
    }

    /// Runs calls of the device as [`scoped`](Self::scoped) does.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Refused`] and [`WgpuError::DeviceLost`].
    pub(crate) fn accepted<R>(&self, calls: impl FnOnce() -> R) -> Result<R, WgpuError> {
        self.scoped(calls).or_else(|error| {
            self.find_loss()?;
            Err(WgpuError::refused(&error))
        })
    }

    /// Checks that the queue belongs to the device. wgpu has no call for that, but the queue's
    /// callbacks are called by the thread that polls the queue's device.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OtherQueue`] and [`WgpuError::DeviceLost`].
    pub(crate) fn check_queue(&self) -> Result<(), WgpuError> {
        // In a browser a device has only one queue, and polling does nothing.
        if cfg!(target_arch = "wasm32") {
            return Ok(());
        }
        for _ in 0..QUEUE_TRIES {
            let called = Arc::new(AtomicU64::new(0));
            let calling = Arc::clone(&called);
            let note = move || calling.store(current_thread(), Ordering::Relaxed);
            self.queue.on_submitted_work_done(note);
            let is_called = || called.load(Ordering::Relaxed) == current_thread();
            self.poll(wgpu::PollType::Poll)?;
            if !is_called() {
                // The queue has work, after which it calls back.
                self.poll(wgpu::PollType::wait_indefinitely())?;
            }
            if is_called() {
                return Ok(());
            }
            // Another thread that polls the device at the same time may have taken the callback.
            std::thread::yield_now();
        }
        Err(WgpuError::OtherQueue)
    }

    /// Checks for the loss of the device, by requesting a buffer that no device can create.
    ///
    /// # Errors
    ///
    /// [`WgpuError::DeviceLost`].
    pub(crate) fn find_loss(&self) -> Result<(), WgpuError> {
        self.check()?;
        if cfg!(target_arch = "wasm32") {
            return Ok(());
        }
        let descriptor = wgpu::BufferDescriptor {
            label: Some("pool-wgpu: is the device lost?"),
            size: 4,
            usage: wgpu::BufferUsages::empty(),
            mapped_at_creation: false,
        };
        match self.scoped(|| self.device.create_buffer(&descriptor)) {
            // A working device reports that the buffer is invalid.
            Err(_) => Ok(()),
            // A lost device returns an invalid buffer without an error.
            Ok(_) => Err(self.note_loss()),
        }
    }

    /// Creates a buffer.
    ///
    /// # Errors
    ///
    /// [`WgpuError::BufferTooLarge`], [`WgpuError::OutOfMemory`], [`WgpuError::DeviceLost`], and
    /// [`WgpuError::Refused`] for usages that exclude each other.
    pub(crate) fn create_buffer(
        &self,
        descriptor: &wgpu::BufferDescriptor<'_>,
        limit: u64,
    ) -> Result<wgpu::Buffer, WgpuError> {
        self.check()?;
        let bytes = descriptor.size;
        if bytes > limit {
            return Err(WgpuError::BufferTooLarge { bytes, limit });
        }
        let buffer = self.scoped(|| self.device.create_buffer(descriptor));
        self.find_loss()?;
        buffer.map_err(|error| match error {
            wgpu::Error::OutOfMemory { .. } => {
                WgpuError::OutOfMemory { bytes, message: error.to_string() }
            }
            error => WgpuError::refused(&error),
        })
    }

    /// Lets wgpu process completed work, or waits for all submitted work. wgpu panics if a device
    /// is lost. A panic of a callback propagates to the caller.
    ///
    /// # Errors
    ///
    /// [`WgpuError::DeviceLost`].
    pub(crate) fn poll(&self, how: wgpu::PollType) -> Result<(), WgpuError> {
        match panic::catch_unwind(AssertUnwindSafe(|| self.device.poll(how))) {
            Ok(_) => Ok(()),
            Err(panicked) => {
                self.find_loss()?;
                panic::resume_unwind(panicked)
            }
        }
    }
}

/// Returns the result of a future that is ready at once, as error scopes are outside a browser.
fn ready<T>(future: impl Future<Output = Option<T>>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => None,
    }
}
