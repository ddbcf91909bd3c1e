//! Calls of wgpu that return errors as values, using error scopes and the device's loss.
//!
//! Outside a browser, wgpu reports a lost device only to a single callback, and that callback
//! belongs to the user. The calls of a lost device return no error that names the loss, so this
//! module queries the device itself. In a browser, each device has a promise that resolves when the
//! device is lost. Several callbacks may wait on this promise, and the event loop calls them.

use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use crate::ending;
use crate::error::WgpuError;
use crate::turn::current_thread;

/// The number of attempts to find out which device a queue belongs to.
const QUEUE_TRIES: usize = 100;

/// A device and its queue, with error handling for their calls.
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
            // The callback lives as long as the device, so it holds only a weak reference.
            let noted = Arc::downgrade(&is_lost);
            device.set_device_lost_callback(move |_, _| {
                if let Some(is_lost) = noted.upgrade() {
                    is_lost.store(true, Ordering::Relaxed);
                }
            });
        }
        Self { device, queue, is_lost, probe }
    }

    /// Checks that wgpu may be called on this thread.
    ///
    /// # Errors
    ///
    /// [`WgpuError::ThreadEnding`].
    #[inline]
    pub(crate) fn check_thread(&self) -> Result<(), WgpuError> {
        // wgpu creates its thread-local variables when it accesses a buffer. This buffer is not
        // mapped, and the result of the call is ignored.
        ending::check_thread(|| drop(self.probe.get_mapped_range(..)))
    }

    /// Returns an error if the device is known to be lost. Does not call wgpu.
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

    /// Runs `calls` on the device, and returns the first error that wgpu reports while they run.
    ///
    /// In a browser, errors arrive later, at the device's handler for uncaptured errors.
    ///
    /// # Errors
    ///
    /// The first error that wgpu reports.
    pub(crate) fn scoped<R>(&self, calls: impl FnOnce() -> R) -> Result<R, wgpu::Error> {
        if cfg!(target_arch = "wasm32") {
            return Ok(calls());
        }
        let out_of_memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let answer = calls();
        // The innermost scope is popped first. A buffer without memory is also invalid, so
        // out-of-memory errors take precedence.
        let validation = ready(validation.pop());
        let internal = ready(internal.pop());
        let error = ready(out_of_memory.pop()).or(internal).or(validation);
        error.map_or(Ok(answer), Err)
    }

    /// Runs `calls` like [`scoped`](Self::scoped), and converts the error.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Refused`] or [`WgpuError::DeviceLost`].
    pub(crate) fn accepted<R>(&self, calls: impl FnOnce() -> R) -> Result<R, WgpuError> {
        self.scoped(calls).or_else(|error| {
            self.find_loss()?;
            Err(WgpuError::refused(&error))
        })
    }

    /// Checks that the queue belongs to the device. wgpu has no call for this check, but the thread
    /// that polls a device also runs the callbacks of that device's queue.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OtherQueue`] or [`WgpuError::DeviceLost`].
    pub(crate) fn check_queue(&self) -> Result<(), WgpuError> {
        // In a browser, a device has only one queue, and polling does nothing.
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
                // Wait for the pending work of the queue: the callback runs once that work is done.
                self.poll(wgpu::PollType::wait_indefinitely())?;
            }
            if is_called() {
                return Ok(());
            }
            // Another thread that polls the device at the same time may have run the callback.
            std::thread::yield_now();
        }
        Err(WgpuError::OtherQueue)
    }

    /// Finds out if the device is lost, by requesting a buffer that is too large for any device.
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
            // A working device reports an invalid buffer.
            Err(_) => Ok(()),
            // A lost device returns an invalid buffer without an error.
            Ok(_) => Err(self.note_loss()),
        }
    }

    /// Creates a buffer.
    ///
    /// # Errors
    ///
    /// [`WgpuError::BufferTooLarge`], [`WgpuError::OutOfMemory`], [`WgpuError::DeviceLost`], or
    /// [`WgpuError::Refused`] if the usages exclude each other.
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
    /// is lost; that panic becomes an error. A panic from a callback propagates to the caller.
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

/// Returns the result of a future that is ready immediately, as the futures of error scopes are
/// outside a browser.
fn ready<T>(future: impl Future<Output = Option<T>>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => None,
    }
}
