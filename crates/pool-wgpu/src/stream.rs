//! The context of a pool: a device, its queue, and the order of all recorded commands.

use std::fmt;
use std::sync::Arc;

use pool_core::{BlockWatch, Element};

use crate::binding::{Access, Binding};
use crate::config::StreamConfig;
use crate::counts::Counts;
use crate::elements;
use crate::ending;
use crate::error::WgpuError;
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
use crate::staging::{IdleBuffers, Way};
use crate::turn::Turns;

/// A device, its queue, and a single order of work: fills, copies and dispatches are recorded in
/// call order. A stream is the context of a `Pool<Wgpu>`.
///
/// A clone refers to the same stream, and pools of the same stream may exchange memory freely.
/// Recorded commands are submitted when there are 512 of them, when a view is read, and by
/// [`submit`](Self::submit). Commands that have not been submitted when the last clone and the last
/// pool are dropped are never executed. A thread that is ending cannot free buffers. The buffers of
/// its pools are freed at the next allocation of any stream.
///
/// # Other encoders
///
/// Work on a pool's memory that you record elsewhere is not part of this order. You can record this
/// work here instead ([`record`](Self::record)). Or call [`submit`](Self::submit) before you submit
/// the work, and submit the work before the view is used again. Or pass the finished command
/// buffers to [`submit_with`](Self::submit_with), which ensures both.
///
/// # Device errors and callbacks
///
/// A stream replaces none of the device's callbacks. It uses error scopes to return wgpu's errors
/// from the call that caused them. A lost device is detected at the next submission, allocation or
/// read. In a browser, errors arrive later, at the device's own handler.
///
/// While a call of the stream runs, foreign code may run on the same thread: the closure of
/// [`record`](Self::record), an error handler, a mapping callback, or a log subscriber. If this
/// code calls the stream, the call fails with [`WgpuError::Reentered`]. A call of a second stream
/// also fails if another thread is using that stream, except from the closure. In all of this code,
/// pools may grow and free blocks. Other threads wait until the call ends.
///
/// # Several threads
///
/// If wgpu rejects a call, only that call fails. A mistake that affects a whole batch is found when
/// a thread submits the batch. Every other thread that recorded into the batch then receives the
/// error from its next call.
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Shared>,
    watch: Option<Arc<dyn BlockWatch + Send + Sync>>,
}

#[derive(Debug)]
struct Shared {
    setup: Arc<Setup>,
    downloads: Arc<IdleBuffers>,
    /// The notes are the identities of freed buffers.
    recording: Turns<Recording>,
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
    /// [`WgpuError::OtherQueue`] if the queue belongs to another device (to find this out, the call
    /// waits for the queue's earlier work); [`WgpuError::DeviceLost`]; [`WgpuError::OutOfMemory`];
    /// [`WgpuError::Refused`] if the device does not support compute shaders;
    /// [`WgpuError::ThreadEnding`].
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, WgpuError> {
        Self::with_config(device, queue, &StreamConfig::new())
    }

    /// Creates a stream from your device and queue, with a configuration that can, for example, add
    /// usages to its buffers.
    ///
    /// # Errors
    ///
    /// The same as [`new`](Self::new).
    pub fn with_config(
        device: wgpu::Device,
        queue: wgpu::Queue,
        config: &StreamConfig,
    ) -> Result<Self, WgpuError> {
        let setup = Arc::new(Setup::new(device, queue, config.all_usages())?);
        ending::drop_orphans();
        let recording = Turns::new(Recording::new(&setup)?);
        let downloads = IdleBuffers::new(Way::Down);
        Ok(Self { shared: Arc::new(Shared { setup, downloads, recording }), watch: None })
    }

    /// Opens a stream on the first adapter that wgpu finds.
    ///
    /// If wgpu finds several adapters, its environment variables, such as `WGPU_BACKEND`, select
    /// one.
    ///
    /// # Errors
    ///
    /// [`WgpuError::NoAdapter`], [`WgpuError::NoDevice`], and the errors of [`new`](Self::new).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open() -> Result<Self, WgpuError> {
        Self::open_with_config(&StreamConfig::new())
    }

    /// Opens a stream on an adapter that wgpu finds, with a configuration.
    ///
    /// # Errors
    ///
    /// The same as [`open`](Self::open).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_with_config(config: &StreamConfig) -> Result<Self, WgpuError> {
        open::wait(Self::open_with_config_async(config))
    }

    /// Like [`open_with_config`](Self::open_with_config), for a browser, where requests for
    /// adapters must be awaited.
    ///
    /// # Errors
    ///
    /// [`WgpuError::NoAdapter`], [`WgpuError::NoDevice`], and the errors of [`new`](Self::new).
    pub async fn open_with_config_async(config: &StreamConfig) -> Result<Self, WgpuError> {
        let (device, queue) = open::open(config).await?;
        Self::with_config(device, queue, config)
    }

    /// Returns the same stream with a watch. The watch is notified of every block that pools
    /// allocate and free through *this* value.
    #[must_use]
    pub fn watched(mut self, watch: impl BlockWatch + Send + Sync) -> Self {
        self.watch = Some(Arc::new(watch));
        self
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.shared.setup.calls.device
    }

    /// Returns the device's queue.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.shared.setup.calls.queue
    }

    /// Returns how often all clones of the stream have called wgpu so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.setup.counters.get()
    }

    /// Returns `true` if the device is known to be lost. A stream detects the loss at a submission,
    /// an allocation or a read.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.shared.setup.calls.check().is_err()
    }

    /// Checks that kernels on this device can compute with elements of type `T`.
    ///
    /// You can acquire, fill, copy and read elements of any type. But WGSL supports `f16`, `f64`,
    /// `i16`, `u16`, `i64` and `u64` only if the device was opened with the corresponding feature.
    ///
    /// # Errors
    ///
    /// [`WgpuError::MissingFeature`], which names the feature.
    pub fn supports<T: Element>(&self) -> Result<(), WgpuError> {
        elements::check::<T>(self.device().features())
    }

    /// Compiles an entry point of a WGSL source. The kernel's storage bindings are
    /// `@group(0) @binding(0)`, `@binding(1)`, …, with the given `accesses`. Its parameters, if
    /// any, are in `@group(1) @binding(0) var<uniform>`, and take at most
    /// [`PARAMETER_BYTES`](crate::PARAMETER_BYTES) bytes.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Compilation`] with wgpu's message; [`WgpuError::TooManyBindings`];
    /// [`WgpuError::DeviceLost`]; [`WgpuError::ThreadEnding`].
    pub fn kernel(
        &self,
        source: &str,
        entry: &str,
        accesses: &[Access],
    ) -> Result<Kernel, WgpuError> {
        self.check_thread()?;
        self.shared.setup.compiler.compile(&self.shared.setup.calls, source, entry, accesses)
    }

    /// Records a dispatch of `groups` workgroups after all earlier commands.
    ///
    /// The bind group is created when a kernel with the same accesses is first dispatched with
    /// these bindings. The stream keeps the bind group until one of the blocks is freed, or until
    /// 4,096 other bind groups have been used more recently. `parameters` are the bytes of the
    /// kernel's uniform, in WGSL's layout. Missing bytes at the end are zero.
    ///
    /// # Errors
    ///
    /// - [`WgpuError::BindingCount`], [`WgpuError::ReadOnlyBinding`], [`WgpuError::SharedBuffer`],
    ///   [`WgpuError::OtherStream`], [`WgpuError::OtherKernel`], [`WgpuError::TooManyParameters`]
    ///   or [`WgpuError::TooManyGroups`] if the arguments are invalid.
    /// - [`WgpuError::Refused`] for mistakes that only wgpu detects, such as a binding that is
    ///   smaller than the kernel's array.
    /// - [`WgpuError::BufferDestroyed`], [`WgpuError::Reentered`], [`WgpuError::DeviceLost`] or
    ///   [`WgpuError::ThreadEnding`].
    /// - [`WgpuError::SubmissionRefused`] if the batch was full and had to be submitted first.
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
    /// The closure must end the passes that it begins. It may acquire from the stream's pools, and
    /// their slots may grow. Calls that record (fills, copies, dispatches and nested calls of
    /// `record`) fail inside the closure with [`WgpuError::Reentered`]. Other threads may use the
    /// stream while the closure runs, and their commands run before the closure's. If the closure
    /// panics or wgpu rejects it, none of its commands are recorded, and earlier commands stay
    /// recorded. The return value of a rejected closure is dropped. Use
    /// [`try_record`](Self::try_record) for a closure that may fail.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Refused`] if wgpu rejects the closure's commands;
    /// [`WgpuError::ExchangedEncoder`]; [`WgpuError::SubmissionRefused`] if the batch was full and
    /// had to be submitted first; [`WgpuError::Reentered`]; [`WgpuError::DeviceLost`];
    /// [`WgpuError::ThreadEnding`].
    pub fn record<R>(
        &self,
        code: impl FnOnce(&mut wgpu::CommandEncoder) -> R,
    ) -> Result<R, WgpuError> {
        self.try_record(|encoder| Ok(code(encoder)))
    }

    /// Like [`record`](Self::record), for a closure that may fail. If the closure fails, its error
    /// is returned and none of its commands are recorded, even if wgpu would also reject them.
    ///
    /// # Errors
    ///
    /// The closure's own error, which takes precedence; otherwise the errors of
    /// [`record`](Self::record).
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
    /// [`WgpuError::SubmissionRefused`] or [`WgpuError::DeviceLost`], after which nothing is
    /// executed; [`WgpuError::Reentered`]; [`WgpuError::ThreadEnding`].
    pub fn submit(&self) -> Result<(), WgpuError> {
        self.with(|recorder| recorder.submit(Vec::new()))
    }

    /// Submits all recorded commands, followed immediately by your command buffers, which may use
    /// memory of the pools.
    ///
    /// # Errors
    ///
    /// The same as [`submit`](Self::submit); your buffers are then not submitted.
    /// [`WgpuError::Refused`] if wgpu rejects one of your buffers. This buffer and the later ones
    /// are not submitted, but the recorded commands and your earlier buffers are.
    pub fn submit_with(
        &self,
        buffers: impl IntoIterator<Item = wgpu::CommandBuffer>,
    ) -> Result<(), WgpuError> {
        // An iterator is foreign code that may use the stream, so it runs before the stream is
        // locked.
        let buffers: Vec<_> = buffers.into_iter().collect();
        self.with(|recorder| recorder.submit(buffers))
    }

    /// Returns the number of commands that have been recorded and not yet submitted. If the number
    /// is 0, you may submit your own command buffers.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Reentered`]; [`WgpuError::ThreadEnding`]; [`WgpuError::SubmissionRefused`] for
    /// an earlier batch that another thread submitted.
    pub fn pending(&self) -> Result<usize, WgpuError> {
        self.with(|recorder| Ok(recorder.pending()))
    }

    /// Checks that wgpu may be called on this thread.
    #[inline]
    pub(crate) fn check_thread(&self) -> Result<(), WgpuError> {
        self.shared.setup.calls.check_thread()
    }

    /// Returns `true` if `other` is a clone of this stream.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Runs code that records, while this thread holds the recording.
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

    /// Returns the parts of the stream that never change, such as the device's limits.
    pub(crate) fn setup(&self) -> &Setup {
        &self.shared.setup
    }

    /// Starts to read bytes of a buffer as elements.
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

    /// Creates a reading of no bytes.
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

    /// Forgets a freed buffer: drops its bind groups now, or the next time the recording is used if
    /// another call holds it.
    fn forget(&self, identity: u64) {
        let shared = &*self.shared;
        shared.setup.counters.buffers_freed.step();
        shared.recording.note(identity);
        shared.recording.take_if_free(|recording, freed| {
            Recorder::new(&shared.setup, recording, &freed);
        });
    }

    /// Frees a buffer. wgpu keeps the memory for as long as recorded work needs it.
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

    /// Waits until freed memory is available again. If a call of the stream is running on this
    /// thread, waits only for submitted work.
    pub(crate) fn settle(&self) {
        if self.check_thread().is_err() {
            return;
        }
        ending::drop_orphans();
        let shared = &*self.shared;
        let _ = shared.recording.take(|recording, freed| {
            Recorder::new(&shared.setup, recording, &freed).submit_unanswered();
        });
        let _ = shared.setup.calls.poll(wgpu::PollType::wait_indefinitely());
    }
}

/// Counts a buffer as freed even if a watch panics. The buffer is dropped together with its box.
struct OnPanic<'a> {
    stream: &'a Stream,
    identity: u64,
}

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        self.stream.forget(self.identity);
    }
}
