//! One stream of one device: the context of a pool. All that the pool enqueues goes to this stream, which so orders
//! handing a block out again, without an event.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::BlockWatch;
use pool_driver::calls;
use pool_driver::capture::is_capturing;
use pool_driver::context::{bind, check_context};
use pool_driver::default_stream::refuse_per_thread;
use pool_driver::error::CudaError;
use pool_driver::leftovers::{Place, give_back_leftovers};

use crate::stream::announced_streams::announce;
use crate::stream::block_free::{DeferredFrees, OrphanBlocks};
use crate::stream::block_source::BlockSource;
use crate::stream::device::CudaDevice;
use crate::stream::holders::Holder;
use crate::stream::other_streams::OtherStreams;
use crate::stream::shape_cells::ShapeCells;
use crate::stream::staging::Staging;
use crate::stream::thread;

/// Where a pool's memory is and where its work is ordered: a device, and a stream of it.
///
/// ```no_run
/// use pool_core::{Pool, PoolView};
/// use pool_cuda::Cuda;
///
/// let device = Cuda::device(0)?;
/// let mut pool = Pool::<Cuda>::new(device.new_stream()?);
/// let scope = pool.scope();
/// let ones = scope.acquire_filled(1000, 1.0_f32);
/// assert_eq!(ones.copy_to_vec()?, [1.0; 1000]);
/// # Ok::<(), pool_cuda::CudaError>(())
/// ```
///
/// Where the host has no memory, calls answer [`CudaError::Bookkeeping`], and dropping asks for none. The exceptions
/// are what cudarc allocates within, and making a [`CudaDevice`] or a value of this type, which is a counted pointer
/// of the standard library each: there the process ends, as everywhere in Rust.
///
/// A pool may move to another thread, and is dropped on any thread. Before a pool asks anything of the driver, it
/// makes its context the thread's current one, and leaves it so.
pub struct DeviceStream {
    // Fields are dropped in this order: the notes of other streams, page-locked memory, the stream, the device.
    other_streams: OtherStreams,
    staging: Staging,
    deferred: DeferredFrees,
    /// The place among the leftovers for blocks that the pool leaves; empty only while this is dropped.
    place: Option<Place<OrphanBlocks>>,
    shapes: Arc<ShapeCells>,
    /// The first error of a call that could not return one.
    unanswered: Cell<Option<CudaError>>,
    /// Where blocks come from instead of the device.
    source: Option<Box<dyn BlockSource>>,
    /// What other pools know of this one; `None` where blocks come from a source.
    holder: Option<Arc<Holder>>,
    /// Whether idle blocks were just freed, so that an allocation that fails now is the last attempt.
    is_last_attempt: Cell<bool>,
    /// Who is told of blocks.
    watch: Option<Box<dyn BlockWatch + Send>>,
    stream: Arc<CudaStream>,
    device: CudaDevice,
}

// SAFETY: everything in it is the driver's, whose calls may be made from any thread once the context is
// the thread's current one, which each method sees to, or is `Send`; it is never shared (`Cell`).
unsafe impl Send for DeviceStream {}

impl CudaDevice {
    /// A new stream of the device, as the context of a pool.
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] where the driver refuses one.
    pub fn new_stream(&self) -> Result<DeviceStream, CudaError> {
        DeviceStream::new(self, self.raw_stream()?)
    }
}

/// As [`DeviceStream::from_stream`]: `Pool::<Cuda>::new(stream.try_into()?)`.
impl TryFrom<Arc<CudaStream>> for DeviceStream {
    type Error = CudaError;

    fn try_from(stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        Self::from_stream(stream)
    }
}

impl DeviceStream {
    /// A stream that was made elsewhere, of the context that it belongs to.
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] where the driver refuses a memory pool.
    pub fn from_stream(stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        let device = CudaDevice::of_context(Arc::clone(stream.context()))?;
        Self::new(&device, stream)
    }

    /// A stream of this device, with the device's memory pool.
    ///
    /// # Errors
    ///
    /// [`CudaError::WrongDevice`] for a stream of another device, [`CudaError::WrongContext`] for one
    /// of another context, and for the per-thread default stream, which is another one wherever the
    /// pool moves.
    pub fn new(device: &CudaDevice, stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        check_context(device.context(), &stream)?;
        refuse_per_thread(&stream)?;
        Self::build(device.clone(), stream, None)
    }

    /// A stream whose pool takes its blocks from a source: for streams that are captured, and for eager work in memory
    /// that somebody lends.
    ///
    /// Where the source is of a [capture](BlockSource::is_captured), an operation that would wait on the host, or copy host memory that nobody keeps, is refused by
    /// [`CudaError::Capturing`] without asking the driver: [`synchronize`](Self::synchronize), copies to
    /// the host, and copies of slices from the host. Fills, copies on the device, shapes and launches work.
    ///
    /// # Errors
    ///
    /// [`CudaError::WrongContext`] for the per-thread default stream.
    pub fn from_source(
        stream: Arc<CudaStream>,
        source: impl BlockSource,
    ) -> Result<Self, CudaError> {
        refuse_per_thread(&stream)?;
        let device = CudaDevice::without_allocations(Arc::clone(stream.context()));
        Self::build(device, stream, Some(Box::new(source)))
    }

    fn build(
        device: CudaDevice,
        stream: Arc<CudaStream>,
        source: Option<Box<dyn BlockSource>>,
    ) -> Result<Self, CudaError> {
        let place = Place::new()?;
        let holder = match source {
            None => Some(Arc::new(Holder::new(&device))),
            Some(_) => None,
        };
        holder.as_ref().map_or(Ok(()), Holder::register)?;
        announce(&stream);
        Ok(Self {
            other_streams: OtherStreams::default(),
            staging: Staging::default(),
            deferred: DeferredFrees::default(),
            place: Some(place),
            shapes: Arc::default(),
            unanswered: Cell::new(None),
            source,
            holder,
            is_last_attempt: Cell::new(false),
            watch: None,
            stream,
            device,
        })
    }

    /// The same stream, with somebody who is told of every block of its pool, and may refuse it.
    #[must_use]
    pub fn watched(mut self, watch: impl BlockWatch + Send) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// The device, the stream, and the watch of the blocks.
    pub(crate) fn into_parts(
        mut self,
    ) -> (CudaDevice, Arc<CudaStream>, Option<Box<dyn BlockWatch + Send>>) {
        (self.device.clone(), Arc::clone(&self.stream), self.watch.take())
    }

    pub(crate) fn watch(&self) -> Option<&(dyn BlockWatch + Send)> {
        self.watch.as_deref()
    }

    /// The stream of this thread, on the device that the thread has [chosen](crate::Cuda::set_device): made at
    /// the first call, kept until the thread ends. The thread's pools share the stream, so that their views can be
    /// arguments of one launch.
    ///
    /// # Errors
    ///
    /// As [`Cuda::device`](crate::Cuda::device) and [`CudaDevice::new_stream`].
    pub fn for_thread() -> Result<Self, CudaError> {
        let (device, stream) = thread::device_and_stream()?;
        Self::new(&device, stream)
    }

    /// Makes a stream the calling thread's own for its device, for pools that are made from now on.
    ///
    /// # Errors
    ///
    /// [`CudaError::WrongContext`] for the per-thread default stream, [`CudaError::Bookkeeping`] where the host
    /// has no memory to note the stream, and [`CudaError::Call`] where the driver refuses a memory pool.
    pub fn set_for_thread(stream: Arc<CudaStream>) -> Result<(), CudaError> {
        thread::set_stream(stream)
    }

    /// Whether this is the stream that [`for_thread`](Self::for_thread) would give.
    #[must_use]
    pub fn is_for_thread(&self) -> bool {
        thread::is_stream(&self.device, &self.stream)
    }

    /// The device that the stream is of.
    #[must_use]
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// cudarc's stream.
    #[must_use]
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Waits, on the host, until all work of the stream is done.
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] where waiting, or work that came before, failed; [`CudaError::Capturing`]
    /// where the pool has a [source](Self::from_source).
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.refuse_with_source("be waited for")?;
        calls::synchronize(&self.stream)
    }

    /// Takes the first error, since the last time, of a call that could not return one: freeing, trimming, or giving out a
    /// pointer through cudarc's traits. Such an error is never mixed into the answers of later calls.
    #[must_use]
    pub fn take_unanswered(&self) -> Option<CudaError> {
        self.unanswered.take()
    }

    /// Stops, or starts again, to order other streams that the pool's memory is used on.
    ///
    /// # Safety
    ///
    /// While the ordering is off, whoever uses memory of the pool on another stream sees to it that this use comes
    /// after the earlier work on the pool's stream, and before whatever the pool does with the memory later.
    pub unsafe fn order_foreign_streams(&self, on: bool) {
        self.other_streams.set_on(on);
    }

    /// Makes the stream come after all other streams that memory of its pool was used on, and after
    /// all work that those streams hold now.
    ///
    /// The pool does this by itself for a block that is used again. Call it at the end of a capture, or of a part of
    /// one: there the streams must have come together.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capturing`] where one of the streams is being captured and the other is not, and
    /// [`CudaError::Call`] where the driver fails to order them.
    pub fn join_other_streams(&self) -> Result<(), CudaError> {
        self.other_streams.join_all(&self.stream)
    }

    pub(crate) fn other_streams(&self) -> &OtherStreams {
        &self.other_streams
    }

    pub(crate) fn deferred(&self) -> &DeferredFrees {
        &self.deferred
    }

    /// What other pools know of this one.
    pub(crate) fn holder(&self) -> Option<&Holder> {
        self.holder.as_deref()
    }

    pub(crate) fn is_last_attempt(&self) -> &Cell<bool> {
        &self.is_last_attempt
    }

    pub(crate) fn staging(&self) -> &Staging {
        &self.staging
    }

    pub(crate) fn shapes(&self) -> &Arc<ShapeCells> {
        &self.shapes
    }

    pub(crate) fn source(&self) -> Option<&dyn BlockSource> {
        self.source.as_deref()
    }

    /// The source of a pool whose stream is captured.
    pub(crate) fn captured_source(&self) -> Option<&dyn BlockSource> {
        self.source().filter(|source| source.is_captured())
    }

    /// Whether nothing is put on the stream, and addresses are of no memory.
    pub(crate) fn is_dry(&self) -> bool {
        self.source().is_some_and(BlockSource::is_dry)
    }

    /// Whether memory of both streams' pools lives and dies together, as far as graphs are concerned.
    pub(crate) fn check_owner(&self, other: &Self) -> Result<(), CudaError> {
        let owner = |stream: &Self| stream.captured_source().map(BlockSource::owner);
        if owner(self) == owner(other) {
            return Ok(());
        }
        Err(CudaError::Capturing { operation: "copy memory that its graph does not own" })
    }

    /// Asks the source whether another stream may be made to come after this one, and so become a part of the capture;
    /// false where there is no source, so that nobody says so.
    pub(crate) fn admit(&self, other: &CudaStream) -> Result<bool, CudaError> {
        match self.captured_source() {
            None => Ok(false),
            Some(source) if source.is_dry() => {
                Err(CudaError::Capturing { operation: "use memory of a dry run on a real stream" })
            }
            Some(source) => source.admit(other).map(|()| true),
        }
    }

    fn refuse_with_source(&self, operation: &'static str) -> Result<(), CudaError> {
        match self.captured_source() {
            Some(_) => Err(CudaError::Capturing { operation }),
            None => Ok(()),
        }
    }

    /// Makes the device's context the thread's current one.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        bind(self.device.context())
    }

    /// Makes the device's context the current one, and refuses an operation that cannot become part of a graph while
    /// the stream is captured.
    pub(crate) fn bind_outside_capture(&self, operation: &'static str) -> Result<(), CudaError> {
        self.refuse_with_source(operation)?;
        match is_capturing(&self.stream)? {
            true => Err(CudaError::Capturing { operation }),
            false => Ok(()),
        }
    }

    /// Keeps the error of a call that cannot return one; the first error counts.
    pub(crate) fn keep_unanswered(&self, result: Result<(), CudaError>) {
        if let Err(error) = result {
            let first = self.unanswered.get().unwrap_or(error);
            self.unanswered.set(Some(first));
        }
    }
}

/// Gives back what the pool left: blocks that are still to be freed, and those of its shapes. Where they cannot be
/// freed now, because the stream is captured or the driver refuses, they are freed later.
///
/// A block of a [source](BlockSource) is not the driver's to free: it is in memory that the source got elsewhere,
/// which may still be used when the pool is gone, as the arena of a graph is. That memory goes with the source.
impl Drop for DeviceStream {
    fn drop(&mut self) {
        give_back_leftovers();
        if self.source.is_some() {
            return;
        }
        // The pool is gone, and with it every view through which a shape could be used. Work that used a shape is
        // in this stream, or was made to come before the stream's end when the slot of its view was freed.
        let (slabs, addresses) = (self.shapes.take_slabs(), self.deferred.take());
        if slabs.is_empty() && addresses.is_empty() {
            return;
        }
        let Some(place) = self.place.take() else { return };
        let orphans = place.own(OrphanBlocks {
            addresses,
            slabs,
            other_streams: std::mem::take(&mut self.other_streams),
            stream: Arc::clone(&self.stream),
            device: self.device.clone(),
        });
        drop(orphans);
    }
}

impl fmt::Debug for DeviceStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceStream")
            .field("device", &self.device)
            .field("stream", &self.stream.cu_stream())
            .finish_non_exhaustive()
    }
}
