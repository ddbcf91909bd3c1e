//! A pool's context: a device, its queue, and the order of all recorded commands.

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

/// A device, its queue, and one order, in which fills, copies and dispatches are recorded in the
/// order of the calls. It is the context of a `Pool<Wgpu>`.
///
/// A clone is the same stream, and the pools of one stream may exchange memory freely. Commands are
/// submitted when 512 are recorded, when a view is read, and by [`submit`](Self::submit). Commands
/// that are not submitted when the last clone and the last pool are dropped are not executed.
/// Buffers that a thread frees while it ends, as the pools of a thread do, are freed with the next
/// allocation of any stream.
///
/// # Other encoders
///
/// Work on a pool's memory that is recorded elsewhere is outside this order. Record it here
/// ([`record`](Self::record)). Or call [`submit`](Self::submit) before you submit it, and submit it
/// before the view's next use. Or pass the finished command buffers to
/// [`submit_with`](Self::submit_with), which does both.
///
/// # Errors and callbacks of the device
///
/// No callback of the device is replaced. wgpu's refusals are returned as errors of the call,
/// through error scopes. A lost device is found at the next submission, allocation or reading. In a
/// browser, errors arrive later, at the device's own handler.
///
/// While a call of the stream runs, foreign code may run on the same thread: the closure of
/// [`record`](Self::record), an error handler, a callback of a mapping, a subscriber of logs. Its
/// calls of the stream are refused with [`WgpuError::Reentered`]. So are its calls of another
/// stream that a thread is using, except from the closure. Pools may grow and free blocks there.
/// Other threads wait for the call to end.
///
/// # Several threads
///
/// A refusal by wgpu is an error of that call alone. A mistake in a batch as a whole is found when
/// one thread submits it. Each other thread that recorded into the batch then gets the error from
/// its next call.
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
    /// Makes a stream of your device and queue.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OtherQueue`] if the queue belongs to another device; to find that out, the call
    /// waits for the queue's earlier work. [`WgpuError::DeviceLost`]; [`WgpuError::OutOfMemory`];
    /// [`WgpuError::Refused`] for a device without compute shaders; [`WgpuError::ThreadEnding`].
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, WgpuError> {
        Self::with_config(device, queue, &StreamConfig::new())
    }

    /// Makes a stream of your device and queue, with a configuration, such as further usages of its
    /// buffers.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new).
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

    /// Opens a stream of the first adapter that wgpu finds.
    ///
    /// wgpu's environment variables, such as `WGPU_BACKEND`, choose among several.
    ///
    /// # Errors
    ///
    /// [`WgpuError::NoAdapter`], [`WgpuError::NoDevice`], and those of [`new`](Self::new).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open() -> Result<Self, WgpuError> {
        Self::open_with_config(&StreamConfig::new())
    }

    /// Opens a stream of an adapter that wgpu finds.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_with_config(config: &StreamConfig) -> Result<Self, WgpuError> {
        open::wait(Self::open_with_config_async(config))
    }

    /// Does the same as [`open_with_config`](Self::open_with_config), for a browser, where adapters
    /// must be awaited.
    ///
    /// # Errors
    ///
    /// [`WgpuError::NoAdapter`], [`WgpuError::NoDevice`], and those of [`new`](Self::new).
    pub async fn open_with_config_async(config: &StreamConfig) -> Result<Self, WgpuError> {
        let (device, queue) = open::open(config).await?;
        Self::with_config(device, queue, config)
    }

    /// Returns the same stream with a watch, which is notified of every block that pools of *this*
    /// value allocate and free.
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

    /// Returns the numbers of calls of wgpu so far, by all clones of the stream.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.setup.counters.get()
    }

    /// Returns `true` if the device was found to be lost. A loss is found at a submission, an
    /// allocation or a reading.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.shared.setup.calls.check().is_err()
    }

    /// Checks that the device's kernels can compute with an element type.
    ///
    /// Memory of any element can be acquired, filled, copied and read. But WGSL has `f16`, `f64`,
    /// `i16`, `u16`, `i64` and `u64` only if the device was opened with a feature.
    ///
    /// # Errors
    ///
    /// [`WgpuError::MissingFeature`], with the feature's name.
    pub fn supports<T: Element>(&self) -> Result<(), WgpuError> {
        elements::check::<T>(self.device().features())
    }

    /// Compiles an entry point of a WGSL source. Its storage bindings are `@group(0) @binding(0)`,
    /// `@binding(1)`, …, with the given `accesses`. Its parameters, if any, are in `@group(1)
    /// @binding(0) var<uniform>`, and have at most [`PARAMETER_BYTES`](crate::PARAMETER_BYTES).
    ///
    /// # Errors
    ///
    /// [`WgpuError::Compilation`] with wgpu's message, [`WgpuError::TooManyBindings`],
    /// [`WgpuError::DeviceLost`], and [`WgpuError::ThreadEnding`].
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
    /// The bind group is made when a kernel with the same accesses first gets these bindings. It is
    /// kept until one of the blocks is freed, or 4,096 others were used more recently. `parameters`
    /// are the bytes of the kernel's uniform, as WGSL lays it out. Missing bytes at their end are
    /// zeros.
    ///
    /// # Errors
    ///
    /// - [`WgpuError::BindingCount`], [`WgpuError::ReadOnlyBinding`], [`WgpuError::SharedBuffer`],
    ///   [`WgpuError::OtherStream`], [`WgpuError::OtherKernel`], [`WgpuError::TooManyParameters`]
    ///   and [`WgpuError::TooManyGroups`] for invalid arguments.
    /// - [`WgpuError::Refused`] for mistakes that only wgpu can detect, such as a binding that is
    ///   smaller than the kernel's array.
    /// - [`WgpuError::BufferDestroyed`], [`WgpuError::Reentered`], [`WgpuError::DeviceLost`] and
    ///   [`WgpuError::ThreadEnding`].
    /// - [`WgpuError::SubmissionRefused`] for a full batch that is submitted before.
    pub fn dispatch(
        &self,
        kernel: &Kernel,
        bindings: &[Binding<'_>],
        parameters: &[u8],
        groups: [u32; 3],
    ) -> Result<(), WgpuError> {
        self.with(|recorder| recorder.dispatch(kernel, bindings, parameters, groups))
    }

    /// Runs your code with an encoder of its own. Its commands run after all commands recorded
    /// before the code returns.
    ///
    /// The closure must end the passes that it begins. It may acquire from pools of the stream,
    /// whose slots may grow. Calls that record (fills, copies, dispatches, other calls of `record`)
    /// are refused there with [`WgpuError::Reentered`]. Other threads may use the stream meanwhile;
    /// their commands run before the closure's. If the closure panics or is refused, none of its
    /// commands is recorded, and earlier commands stay. The return value of a refused closure is
    /// dropped: pass a closure that may fail to [`try_record`](Self::try_record).
    ///
    /// # Errors
    ///
    /// [`WgpuError::Refused`] for commands of the closure that wgpu does not accept;
    /// [`WgpuError::ExchangedEncoder`]; [`WgpuError::SubmissionRefused`] for a full batch that is
    /// submitted before; [`WgpuError::Reentered`]; [`WgpuError::DeviceLost`];
    /// [`WgpuError::ThreadEnding`].
    pub fn record<R>(
        &self,
        code: impl FnOnce(&mut wgpu::CommandEncoder) -> R,
    ) -> Result<R, WgpuError> {
        self.try_record(|encoder| Ok(code(encoder)))
    }

    /// Runs your code as [`record`](Self::record) does, for code that may fail. Then none of its commands is recorded,
    /// and its own error is returned instead of wgpu's.
    ///
    /// # Errors
    ///
    /// The closure's own error, before any other; and as [`record`](Self::record).
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
    /// [`WgpuError::SubmissionRefused`] and [`WgpuError::DeviceLost`], in which cases nothing is
    /// executed; [`WgpuError::Reentered`]; [`WgpuError::ThreadEnding`].
    pub fn submit(&self) -> Result<(), WgpuError> {
        self.with(|recorder| recorder.submit(Vec::new()))
    }

    /// Submits all recorded commands, and right after them your command buffers, which may use
    /// memory of the pools.
    ///
    /// # Errors
    ///
    /// Same as [`submit`](Self::submit), in which cases yours are not submitted.
    /// [`WgpuError::Refused`] for the first of yours that wgpu refuses: it and the later ones are
    /// not submitted. The earlier ones are, and so are the recorded commands.
    pub fn submit_with(
        &self,
        buffers: impl IntoIterator<Item = wgpu::CommandBuffer>,
    ) -> Result<(), WgpuError> {
        // An iterator is foreign code, and may use the stream.
        let buffers: Vec<_> = buffers.into_iter().collect();
        self.with(|recorder| recorder.submit(buffers))
    }

    /// Returns the number of commands that are recorded and not submitted. If it is 0, other
    /// command buffers may be submitted.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Reentered`] and [`WgpuError::ThreadEnding`]; [`WgpuError::SubmissionRefused`] for a batch that another
    /// thread has submitted.
    pub fn pending(&self) -> Result<usize, WgpuError> {
        self.with(|recorder| Ok(recorder.pending()))
    }

    /// Checks that this thread may call wgpu.
    #[inline]
    pub(crate) fn check_thread(&self) -> Result<(), WgpuError> {
        self.shared.setup.calls.check_thread()
    }

    /// Returns `true` if the other is a clone of this stream.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Records, during this thread's turn.
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

    /// Returns the fixed parts of the stream, such as the device's limits.
    pub(crate) fn setup(&self) -> &Setup {
        &self.shared.setup
    }

    /// Begins to read bytes of a buffer as elements.
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

    /// Makes a reading of no bytes.
    pub(crate) fn read_nothing<T>(&self, length: usize) -> Reading<T> {
        Reading::of_nothing(Arc::clone(&self.shared.setup), length)
    }

    /// Allocates a buffer of `bytes` bytes for a block.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Box<Allocation>, WgpuError> {
        let setup = &*self.shared.setup;
        self.check_thread()?;
        ending::drop_orphans();
        if self.watch.as_ref().is_some_and(|watch| !watch.admit(bytes)) {
            let message = "the stream's watch refuses".to_owned();
            return Err(WgpuError::OutOfMemory { bytes: bytes as u64, message });
        }
        let identity = Allocation::new_identity(bytes as u64);
        // wgpu names the buffer by it in messages.
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

    /// Forgets a buffer: drops its bind groups at once, or at the next turn.
    fn forget(&self, identity: u64) {
        let shared = &*self.shared;
        shared.setup.counters.buffers_freed.step();
        shared.recording.note(identity);
        shared.recording.take_if_free(|recording, freed| {
            Recorder::new(&shared.setup, recording, &freed);
        });
    }

    /// Frees a buffer. wgpu keeps it for as long as recorded work needs it.
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

    /// Waits until freed memory is available again. In the middle of a call of the stream, it waits
    /// only for submitted work.
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

/// Counts a buffer as freed even if a watch panics: the buffer is dropped with its box.
struct OnPanic<'a> {
    stream: &'a Stream,
    identity: u64,
}

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        self.stream.forget(self.identity);
    }
}
