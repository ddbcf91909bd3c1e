//! Calls of wgpu whose errors come back as values: error scopes, and the loss of the device.
//!
//! wgpu tells nobody but a callback that a device is lost, and there is one callback, which is the user's. So a loss is
//! looked for: a lost device does not say what is wrong with a call. In a browser a device has a promise of its loss
//! instead, for which any number of callbacks may wait; the event loop calls them.

use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use crate::ending;
use crate::error::WgpuError;
use crate::turn::current_thread;

/// How often a queue is asked whose it is.
const QUEUE_TRIES: usize = 100;

/// A device and its queue, called with care.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    is_lost: Arc<AtomicBool>,
    /// A buffer for [`check_thread`](Self::check_thread) to look at.
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
        // wgpu makes its variables of a thread when it looks at a buffer. This one is not mapped, which is no matter.
        ending::check_thread(|| drop(self.probe.get_mapped_range(..)))
    }

    /// Asks for nothing: whether the device was found to be lost.
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

    /// Runs calls of the device, and returns the first error among those that wgpu reports meanwhile.
    ///
    /// In a browser errors come later, and go to the device's handler of uncaptured errors.
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
        // Innermost first. A buffer without memory is invalid, too, so that running out is what is told.
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

    /// Checks that the queue is the device's. wgpu does not tell to which device a queue belongs; but the queue's
    /// callbacks are called by the thread that polls the queue's device.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OtherQueue`] and [`WgpuError::DeviceLost`].
    pub(crate) fn check_queue(&self) -> Result<(), WgpuError> {
        // In a browser a device has its one queue, and nothing polls.
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
                // The queue has work, behind which it calls.
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

    /// Looks whether the device is lost, by asking it for a buffer that no device can give.
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
            // A device that lives says that the buffer is useless.
            Err(_) => Ok(()),
            // A lost one gives a buffer that is not valid, and says nothing.
            Ok(_) => Err(self.note_loss()),
        }
    }

    /// Creates a buffer.
    ///
    /// # Errors
    ///
    /// [`WgpuError::BufferTooLarge`], [`WgpuError::OutOfMemory`], [`WgpuError::DeviceLost`], and
    /// [`WgpuError::Refused`] for usages that do not go together.
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

    /// Lets wgpu look at what is done, or waits for all that is submitted. wgpu panics where a device is lost, and lets a
    /// panic of a callback pass, which is its owner's affair.
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

/// What a future has at once; everywhere but in a browser, error scopes have.
fn ready<T>(future: impl Future<Output = Option<T>>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => None,
    }
}
