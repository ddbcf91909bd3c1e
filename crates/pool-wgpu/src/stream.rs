//! Implements a pool's context, which consists of a device, its queue, and an ordered list of
//! recorded commands.

use std::fmt;
use std::sync::Arc;

use pool_core::{BlockWatch, Element};

use crate::binding::{Access, Binding};
use crate::config::StreamConfig;
use crate::counts::Counts;
use crate::elements;
use crate::ending;
use crate::error::WgpuError;
use crate::exclusive_state::ExclusiveState;
#[cfg(any(test, pool_browser_tests))]
use crate::flaw::Recorder;
use crate::kernel::Kernel;
use crate::memory::Allocation;
use crate::open;
use crate::reading::Reading;
#[cfg(not(any(test, pool_browser_tests)))]
use crate::recorder::Recorder;
use crate::recorder::{Recording, record_apart};
use crate::setup::Setup;
use crate::staging::{CopyDirection, IdleBuffers};

/// A device, its queue, and an ordered list of recorded commands. Fills, copies, and dispatches are
/// recorded in call order. A `Stream` is the context of a `Pool<Wgpu>`.
///
/// All clones refer to the same stream, and pools that share a stream can use each other's memory.
/// Recorded commands are submitted when their number reaches 512, when a view is read, or when
/// [`submit`](Self::submit) is called. If the stream's last clone and last pool are dropped,
/// commands that have not been submitted are never executed. A thread cannot free buffers while it
/// is ending. The buffers of an ending thread's pools are freed when any stream next allocates a
/// buffer.
///
/// # Other encoders
///
/// The stream does not order work that you record in your own encoder, even if that work uses a
/// pool's memory. To include such work in the order, use one of these methods:
///
/// - Record the work with [`record`](Self::record).
/// - Call [`submit`](Self::submit) before you submit your own work, and submit your work before you
///   use the same views again.
/// - Pass the finished command buffers to [`submit_with`](Self::submit_with), which
///   submits them after the recorded commands.
///
/// # Device errors and callbacks
///
/// Creating a stream does not replace the device's callbacks. A stream uses error scopes, so each
/// call returns the errors that wgpu reports for that call. The stream detects a lost device at the
/// next submission, allocation, or read. A browser reports errors later and only to the device's
/// own handler.
///
/// A call to a stream can run user code on the same thread. User code includes the closure passed
/// to [`record`](Self::record), error handlers, mapping callbacks, and log subscribers. If user
/// code calls a method of the same stream, that call fails with [`WgpuError::Reentered`]. A call
/// from user code to a second stream also fails with `Reentered` if another thread is using that
/// stream, except inside the closure passed to `record`. User code can acquire arrays, so pools
/// might allocate and free blocks during a call. A call from another thread blocks until the
/// running call has returned.
///
/// # Several threads
///
/// If wgpu rejects a call, only that call fails, and all other commands stay recorded. However, a
/// mistake that wgpu detects only at submission affects the whole batch. Every other thread that
/// recorded commands in a rejected batch receives the error from its next call.
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Shared>,
    watch: Option<Arc<dyn BlockWatch + Send + Sync>>,
}

#[derive(Debug)]
struct Shared {
    setup: Arc<Setup>,
    downloads: Arc<IdleBuffers>,
    /// The recorded commands, which one thread uses at a time. Threads store the identities of
    /// freed buffers for the next thread that uses the commands.
    recording: ExclusiveState<Recording>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if ending::is_ending() {
            let (setup, downloads) = (Arc::clone(&self.setup), Arc::clone(&self.downloads));
            ending::leave((self.recording.end(), setup, downloads));
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("device", &self.shared.setup.calls.device)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// Creates a stream from your device and queue.
    ///
    /// # Errors
    ///
    /// - Returns [`WgpuError::OtherQueue`] if the queue belongs to another device. To detect this
    ///   error, the function waits for work that has already been submitted to the queue.
    /// - Returns [`WgpuError::Refused`] if the device does not support compute shaders.
    /// - Returns [`WgpuError::DeviceLost`] if the device is lost, or [`WgpuError::OutOfMemory`] if
    ///   the device is out of memory.
    /// - Returns [`WgpuError::ThreadEnding`] if this thread is ending.
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, WgpuError> {
        Self::with_config(device, queue, &StreamConfig::new())
    }

    /// Creates a stream from your device and queue with a configuration, which can add usages to
    /// the stream's buffers.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`new`](Self::new).
    pub fn with_config(
        device: wgpu::Device,
        queue: wgpu::Queue,
        config: &StreamConfig,
    ) -> Result<Self, WgpuError> {
        let setup = Arc::new(Setup::new(device, queue, config.all_usages())?);
        ending::drop_orphans();
        let recording = ExclusiveState::new(Recording::new(&setup)?);
        let downloads = IdleBuffers::new(CopyDirection::Download);
        Ok(Self { shared: Arc::new(Shared { setup, downloads, recording }), watch: None })
    }

    /// Opens a stream on the first adapter that wgpu finds.
    ///
    /// If there are several adapters, wgpu's environment variables, such as `WGPU_BACKEND`, select
    /// one.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::NoAdapter`] if there is no adapter, or [`WgpuError::NoDevice`] if the
    /// adapter cannot provide a suitable device. The function also returns the same errors as
    /// [`new`](Self::new).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open() -> Result<Self, WgpuError> {
        Self::open_with_config(&StreamConfig::new())
    }

    /// Opens a stream with the given configuration on an adapter that wgpu finds.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`open`](Self::open).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_with_config(config: &StreamConfig) -> Result<Self, WgpuError> {
        open::wait(Self::open_with_config_async(config))
    }

    /// Opens a stream like [`open_with_config`](Self::open_with_config), but without blocking. A
    /// program in a browser must await its request for an adapter.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::NoAdapter`] if there is no adapter, or [`WgpuError::NoDevice`] if the
    /// adapter cannot provide a suitable device. The function also returns the same errors as
    /// [`new`](Self::new).
    pub async fn open_with_config_async(config: &StreamConfig) -> Result<Self, WgpuError> {
        let (device, queue) = open::open(config).await?;
        Self::with_config(device, queue, config)
    }

    /// Registers a watch and returns the stream. The watch is notified of every block that pools
    /// allocate or free through the *returned* value.
    #[must_use]
    pub fn watched(mut self, watch: impl BlockWatch + Send + Sync) -> Self {
        self.watch = Some(Arc::new(watch));
        self
    }

    /// Returns the stream's device.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.shared.setup.calls.device
    }

    /// Returns the device's queue.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.shared.setup.calls.queue
    }

    /// Returns the number of calls of each kind that all clones of the stream have made to wgpu so
    /// far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.setup.counters.get()
    }

    /// Returns `true` if the device is known to be lost. The stream detects that the device is lost
    /// at the next submission, allocation, or read.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.shared.setup.calls.check().is_err()
    }

    /// Checks that kernels on this device can compute with elements of type `T`.
    ///
    /// Elements of any type can be acquired, filled, copied, and read. In WGSL, kernels support
    /// `f16`, `f64`, `i16`, `u16`, `i64`, and `u64` only if the device was opened with the
    /// corresponding feature.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::MissingFeature`] if the device was opened without the required feature.
    /// The error names this feature.
    pub fn supports<T: Element>(&self) -> Result<(), WgpuError> {
        elements::check::<T>(self.device().features())
    }

    /// Compiles an entry point in a WGSL source. The kernel's storage bindings must be declared as
    /// `@group(0) @binding(0)`, `@binding(1)`, …, with the given `accesses`. Parameters must be
    /// declared as `@group(1) @binding(0) var<uniform>`, and must have at most
    /// [`PARAMETER_BYTES`](crate::PARAMETER_BYTES) bytes.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::Compilation`] with wgpu's message if the source does not compile.
    /// Returns [`WgpuError::TooManyBindings`] if there are more bindings than the device supports.
    /// Returns [`WgpuError::DeviceLost`] if the device is lost, or [`WgpuError::ThreadEnding`] if
    /// this thread is ending.
    pub fn kernel(
        &self,
        source: &str,
        entry: &str,
        accesses: &[Access],
    ) -> Result<Kernel, WgpuError> {
        self.check_thread()?;
        self.shared.setup.compiler.compile(&self.shared.setup.calls, source, entry, accesses)
    }

    /// Records a dispatch of `groups` workgroups, which runs after all earlier commands.
    ///
    /// The stream creates a bind group when a kernel first uses these bindings. Kernels with the
    /// same accesses share this bind group. The bind group exists until one of its blocks is freed
    /// or until 4,096 other bind groups have been used more recently. `parameters` contains the
    /// bytes of the kernel's uniform variable, laid out as in WGSL. If `parameters` is shorter than
    /// the uniform variable, the remaining bytes are zero.
    ///
    /// # Errors
    ///
    /// - Returns [`WgpuError::BindingCount`], [`WgpuError::ReadOnlyBinding`],
    ///   [`WgpuError::SharedBuffer`], [`WgpuError::OtherStream`], [`WgpuError::OtherKernel`],
    ///   [`WgpuError::TooManyParameters`], or [`WgpuError::TooManyGroups`] if the arguments are
    ///   invalid.
    /// - Returns [`WgpuError::Refused`] for mistakes that only wgpu detects. For example, a binding
    ///   may be smaller than the array that the kernel declares.
    /// - Returns [`WgpuError::BufferDestroyed`], [`WgpuError::Reentered`],
    ///   [`WgpuError::DeviceLost`], or [`WgpuError::ThreadEnding`] if the stream or a buffer cannot
    ///   be used.
    /// - Returns [`WgpuError::SubmissionRefused`] if the batch was full and wgpu rejected it at
    ///   submission.
    pub fn dispatch(
        &self,
        kernel: &Kernel,
        bindings: &[Binding<'_>],
        parameters: &[u8],
        groups: [u32; 3],
    ) -> Result<(), WgpuError> {
        self.with(|recorder| recorder.dispatch(kernel, bindings, parameters, groups))
    }

    /// Runs your closure with a separate encoder. The closure's commands run after all commands
    /// that were recorded before the closure returned.
    ///
    /// The closure must end all passes that it begins. The closure may acquire arrays from the
    /// stream's pools, even if this requires the pools to allocate memory. Inside the closure,
    /// fills, copies, dispatches, and nested calls to `record` fail with [`WgpuError::Reentered`].
    /// Other threads may use the stream while the closure runs, and their commands precede the
    /// closure's commands.
    ///
    /// If the closure panics or wgpu rejects its commands, none of its commands are recorded. All
    /// earlier commands stay recorded. The closure's return value is dropped if wgpu rejects the
    /// commands. Use [`try_record`](Self::try_record) if the closure can fail.
    ///
    /// # Errors
    ///
    /// - Returns [`WgpuError::Refused`] if wgpu rejects the closure's commands, or
    ///   [`WgpuError::ExchangedEncoder`] if the closure replaced its encoder.
    /// - Returns [`WgpuError::SubmissionRefused`] if the batch was full and wgpu rejected it at
    ///   submission.
    /// - Returns [`WgpuError::Reentered`], [`WgpuError::DeviceLost`], or
    ///   [`WgpuError::ThreadEnding`] if the stream cannot be used.
    pub fn record<R>(
        &self,
        code: impl FnOnce(&mut wgpu::CommandEncoder) -> R,
    ) -> Result<R, WgpuError> {
        self.try_record(|encoder| Ok(code(encoder)))
    }

    /// Does the same as [`record`](Self::record) for a closure that can fail. If the closure fails,
    /// none of its commands are recorded.
    ///
    /// # Errors
    ///
    /// Returns the closure's error, even if wgpu would also reject the closure's commands. Even if
    /// the closure succeeds, this method can return any error that [`record`](Self::record)
    /// returns.
    pub fn try_record<R, E: From<WgpuError>>(
        &self,
        code: impl FnOnce(&mut wgpu::CommandEncoder) -> Result<R, E>,
    ) -> Result<R, E> {
        self.with(|_| Ok(()))?;
        let barred = self.shared.recording.bar()?;
        let (buffer, answer) = record_apart(&self.shared.setup.calls, code)?;
        drop(barred);
        self.with(|recorder| recorder.append(buffer))?;
        Ok(answer)
    }

    /// Submits all recorded commands.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::SubmissionRefused`] if wgpu rejects commands, or
    /// [`WgpuError::DeviceLost`] if the device is lost. Returns [`WgpuError::Reentered`] if this
    /// thread is already using a stream, or [`WgpuError::ThreadEnding`] if this thread is ending.
    pub fn submit(&self) -> Result<(), WgpuError> {
        self.with(|recorder| recorder.submit(Vec::new()))
    }

    /// Submits all recorded commands and then your command buffers, which may use the pools'
    /// memory. No other commands can run between the recorded commands and your command buffers.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`submit`](Self::submit). If one of these errors occurs, none of
    /// your command buffers are submitted. Returns [`WgpuError::Refused`] if wgpu rejects one of
    /// your command buffers. wgpu executes neither the rejected buffer nor any buffer after it.
    /// wgpu executes the recorded commands and your earlier buffers.
    pub fn submit_with(
        &self,
        buffers: impl IntoIterator<Item = wgpu::CommandBuffer>,
    ) -> Result<(), WgpuError> {
        // The iterator is user code that may use the stream, so it runs before the stream is
        // locked.
        let buffers: Vec<_> = buffers.into_iter().collect();
        self.with(|recorder| recorder.submit(buffers))
    }

    /// Returns the number of commands that have been recorded but not yet submitted. If no such
    /// commands exist, you may submit your own command buffers directly to the queue.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::Reentered`] if this thread is already using a stream, or
    /// [`WgpuError::ThreadEnding`] if this thread is ending. Returns
    /// [`WgpuError::SubmissionRefused`] if another thread submitted this thread's commands and wgpu
    /// rejected them.
    pub fn pending(&self) -> Result<usize, WgpuError> {
        self.with(|recorder| Ok(recorder.pending()))
    }

    /// Checks that this thread may call wgpu.
    #[inline]
    pub(crate) fn check_thread(&self) -> Result<(), WgpuError> {
        self.shared.setup.calls.check_thread()
    }

    /// Returns `true` if `other` is a clone of this stream.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Runs code that records commands, and gives it exclusive access to the recording.
    #[inline]
    pub(crate) fn with<R>(
        &self,
        code: impl FnOnce(&mut Recorder<'_>) -> Result<R, WgpuError>,
    ) -> Result<R, WgpuError> {
        let shared = &*self.shared;
        self.check_thread()?;
        shared.recording.take(|recording, freed| {
            let mut recorder = Recorder::new(&shared.setup, recording, &freed);
            recorder.pay()?;
            code(&mut recorder)
        })?
    }

    /// Returns the stream's unchanging parts, such as the device's limits.
    pub(crate) fn setup(&self) -> &Setup {
        &self.shared.setup
    }

    /// Starts copying a buffer's bytes to the host as elements of type `T`.
    pub(crate) fn read<T>(
        &self,
        allocation: &Allocation,
        offset: u64,
        length: usize,
    ) -> Result<Reading<T>, WgpuError> {
        let bytes = (length * size_of::<T>()) as u64;
        let (setup, pool) = (Arc::clone(&self.shared.setup), Arc::clone(&self.shared.downloads));
        let staging = self.with(|recorder| recorder.download(allocation, offset, bytes, &pool))?;
        Reading::new(setup, pool, staging, offset % 4, length)
    }

    /// Creates a `Reading` that contains no bytes.
    pub(crate) fn read_nothing<T>(&self, length: usize) -> Reading<T> {
        Reading::of_nothing(Arc::clone(&self.shared.setup), length)
    }

    /// Allocates a buffer of `bytes` bytes for a block.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Box<Allocation>, WgpuError> {
        let setup = &*self.shared.setup;
        self.check_thread()?;
        ending::drop_orphans();
        if self.watch.as_ref().is_some_and(|watch| !watch.admit(bytes)) {
            let message = "the stream's watch refused the allocation".to_owned();
            return Err(WgpuError::OutOfMemory { bytes: bytes as u64, message });
        }
        let identity = Allocation::new_identity(bytes as u64);
        // The label identifies the buffer in wgpu's messages.
        let label = format!("pool-wgpu block {identity:#x}");
        let descriptor = wgpu::BufferDescriptor {
            label: Some(&label),
            size: bytes as u64,
            usage: setup.usages,
            mapped_at_creation: false,
        };
        let buffer = setup.calls.create_buffer(&descriptor, setup.limits.buffer)?;
        setup.counters.buffers_created.step();
        let allocation = Box::new(Allocation::new(buffer, identity, setup.number));
        if let Some(watch) = &self.watch {
            let panicked = OnPanic { stream: self, identity: allocation.identity };
            watch.allocated(allocation.identity, bytes);
            std::mem::forget(panicked);
        }
        Ok(allocation)
    }

    /// Counts a buffer as freed and removes its bind groups from the stream's cache. If another
    /// call is using the recording, the next call removes the bind groups. If no other call is
    /// using the recording, this method removes the bind groups immediately.
    fn forget(&self, identity: u64) {
        let shared = &*self.shared;
        shared.setup.counters.buffers_freed.step();
        shared.recording.note(identity);
        shared.recording.take_if_free(|recording, freed| {
            Recorder::new(&shared.setup, recording, &freed);
        });
    }

    /// Frees a buffer. Recorded commands that use the buffer keep its memory alive.
    pub(crate) fn free(&self, allocation: Box<Allocation>, bytes: usize) {
        let identity = allocation.identity;
        if ending::is_ending() {
            self.shared.setup.counters.buffers_freed.step();
            self.shared.recording.note(identity);
            ending::leave(allocation);
        } else {
            self.forget(identity);
            drop(allocation);
        }
        if let Some(watch) = &self.watch {
            watch.freed(identity, bytes);
        }
    }

    /// Blocks until the memory of freed buffers is available again. If this thread is already in a
    /// call on the stream, this method waits only for work that has already been submitted.
    pub(crate) fn settle(&self) {
        if self.check_thread().is_err() {
            return;
        }
        ending::drop_orphans();
        let shared = &*self.shared;
        let _ = shared.recording.take(|recording, freed| {
            Recorder::new(&shared.setup, recording, &freed).submit_and_keep_error();
        });
        let _ = shared.setup.calls.poll(wgpu::PollType::wait_indefinitely());
    }
}

/// A guard that counts a buffer as freed if a watch panics. The box that contains the buffer is
/// dropped separately.
struct OnPanic<'a> {
    stream: &'a Stream,
    identity: u64,
}

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        self.stream.forget(self.identity);
    }
}
