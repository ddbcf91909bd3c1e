//! Wraps calls to wgpu and returns their errors as values. Error scopes catch wgpu's errors, and
//! queries detect a lost device.
//!
//! Outside a browser, wgpu reports a lost device to only one callback, which belongs to the user.
//! Other calls on a lost device do not report the loss. This module queries the device instead.
//!
//! In a browser, each device has a promise that resolves when the device is lost. Several callbacks
//! can wait for this promise. The event loop runs these callbacks.

use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use crate::ending;
use crate::error::WgpuError;
use crate::exclusive_state::current_thread;

/// The maximum number of attempts to determine whether a queue belongs to a device.
const QUEUE_TRIES: usize = 100;

/// A device and its queue, with methods that call wgpu and return its errors as values.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    is_lost: Arc<AtomicBool>,
    /// The buffer that [`check_thread`](Self::check_thread) uses to call wgpu.
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
            // The callback stores only a weak reference, because the callback lives as long as the
            // device.
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
    /// Returns [`WgpuError::ThreadEnding`] if this thread is ending.
    #[inline]
    pub(crate) fn check_thread(&self) -> Result<(), WgpuError> {
        // Accessing a buffer makes wgpu create its thread-local variables. The result of the access
        // is ignored, because the buffer is not mapped.
        ending::check_thread(|| drop(self.probe.get_mapped_range(..)))
    }

    /// Returns an error if an earlier call has found that the device is lost. This method does not
    /// call wgpu.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::DeviceLost`] if the device is known to be lost.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), WgpuError> {
        if self.is_lost.load(Ordering::Relaxed) { Err(WgpuError::DeviceLost) } else { Ok(()) }
    }

    /// Records that the device is lost.
    pub(crate) fn note_loss(&self) -> WgpuError {
        self.is_lost.store(true, Ordering::Relaxed);
        WgpuError::DeviceLost
    }

    /// Runs `calls` on the device and returns the first error that wgpu reports.
    ///
    /// In a browser, this method never returns an error. The browser reports errors later to the
    /// device's handler for uncaptured errors.
    ///
    /// # Errors
    ///
    /// Returns the first error that wgpu reports during the calls.
    pub(crate) fn scoped<R>(&self, calls: impl FnOnce() -> R) -> Result<R, wgpu::Error> {
        if cfg!(target_arch = "wasm32") {
            return Ok(calls());
        }
        let out_of_memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let answer = calls();
        // wgpu requires error scopes to be popped in reverse order. Out-of-memory errors take
        // precedence because a buffer without memory also causes a validation error.
        let validation = ready(validation.pop());
        let internal = ready(internal.pop());
        let error = ready(out_of_memory.pop()).or(internal).or(validation);
        error.map_or(Ok(answer), Err)
    }

    /// Does the same as [`scoped`](Self::scoped), but converts wgpu's error into a [`WgpuError`].
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::DeviceLost`] if the device is lost, or [`WgpuError::Refused`] for all
    /// other errors.
    pub(crate) fn accepted<R>(&self, calls: impl FnOnce() -> R) -> Result<R, WgpuError> {
        self.scoped(calls).or_else(|error| {
            self.find_loss()?;
            Err(WgpuError::refused(&error))
        })
    }

    /// Checks that the queue belongs to the device. wgpu provides no function for this check. A
    /// thread that polls a device also runs the callbacks of the device's queue. If none of the
    /// queue's callbacks run during several polls on this thread, the queue belongs to another
    /// device.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::OtherQueue`] if the queue belongs to another device, or
    /// [`WgpuError::DeviceLost`] if the device is lost.
    pub(crate) fn check_queue(&self) -> Result<(), WgpuError> {
        // In a browser, a device has only one queue, and polling has no effect.
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
                // The callback runs after the queue's pending work has completed, so this thread
                // waits for that work.
                self.poll(wgpu::PollType::wait_indefinitely())?;
            }
            if is_called() {
                return Ok(());
            }
            // Another thread that was polling the device at the same time might have run the
            // callback.
            std::thread::yield_now();
        }
        Err(WgpuError::OtherQueue)
    }

    /// Requests a buffer with an invalid combination of usages to find out whether the device is
    /// lost.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::DeviceLost`] if the device is lost.
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
            // A working device reports an error for the invalid buffer.
            Err(_) => Ok(()),
            // If the device is lost, wgpu returns the invalid buffer without an error.
            Ok(_) => Err(self.note_loss()),
        }
    }

    /// Creates a buffer of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::BufferTooLarge`] if the size exceeds `limit`,
    /// [`WgpuError::OutOfMemory`] if the device is out of memory, or [`WgpuError::DeviceLost`] if
    /// the device is lost. Returns [`WgpuError::Refused`] if the usages cannot be combined.
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

    /// Processes completed work, or waits for all submitted work if `how` requests a wait. If the
    /// device is lost, wgpu panics, and this method converts the panic into an error. A panic in a
    /// callback is propagated to the caller.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::DeviceLost`] if the device is lost.
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

/// Returns the result of a future that is immediately ready. Outside a browser, the future that an
/// error scope returns is always ready.
fn ready<T>(future: impl Future<Output = Option<T>>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => None,
    }
}
