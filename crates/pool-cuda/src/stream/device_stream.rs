//! One stream of one device: the context of a pool. All that the pool enqueues goes to this stream, so
//! that handing a block out again is ordered by it, without an event.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::driver::calls::{self, Address, bind};
use crate::driver::capture::is_capturing;
use crate::driver::chain::Chain;
use crate::driver::error::CudaError;
use crate::driver::leftovers::{self, LeftBlocks, Leftover, Place};
use crate::stream::block_source::BlockSource;
use crate::stream::block_watch::BlockWatch;
use crate::stream::device::CudaDevice;
use crate::stream::other_streams::{ForeignUses, announce};
use crate::stream::staging::Staging;
use crate::view::shape::ShapeCells;

/// Where a pool's memory is and where its work is ordered: a device, and a stream of it.
///
/// ```no_run
/// use pool_core::Pool;
/// use pool_cuda::Cuda;
///
/// let device = Cuda::device(0)?;
/// let mut pool = Pool::<Cuda>::new(device.new_stream()?);
/// let scope = pool.scope();
/// let ones = scope.acquire_filled(1000, 1.0_f32);
/// assert_eq!(ones.to_vec()?, [1.0; 1000]);
/// # Ok::<(), pool_cuda::CudaError>(())
/// ```
///
/// Where the host has no memory, calls answer [`CudaError::Bookkeeping`], and dropping asks for none. The exceptions
/// are what cudarc allocates within, and making a [`CudaDevice`] or a value of this type, which is a counted pointer
/// of the standard library each: there the process ends, as everywhere in Rust.
///
/// A pool may move to another thread, and is dropped on any: whatever it asks of the driver, it makes
/// its context the thread's current one first, and leaves it so.
pub struct DeviceStream {
    // Fields are dropped in this order: what other streams hold, what lies in the device's memory, the
    // stream, the device.
    foreign: ForeignUses,
    staging: Staging,
    /// Blocks that are still to be freed: because the stream was captured, which would have made the free
    /// a part of the graph, or because the driver refused.
    deferred: Cell<Chain<Address>>,
    /// A link for each block, so that freeing it can be put off whatever memory the host has then.
    spares: Cell<Chain<Address>>,
    /// Where what is left of the pool goes.
    place: Place,
    shapes: Arc<ShapeCells>,
    /// What a call met that could not answer.
    unanswered: Cell<Option<CudaError>>,
    /// Where blocks come from instead of the device.
    source: Option<Box<dyn BlockSource>>,
    /// Who is told of blocks.
    watch: Option<Box<dyn BlockWatch>>,
    stream: Arc<CudaStream>,
    device: CudaDevice,
}

// SAFETY: everything in it is the driver's, whose calls may be made from any thread once the context is
// the thread's current one, which each method sees to, or is `Send`; it is never shared (`Cell`).
unsafe impl Send for DeviceStream {}

/// The handle of the default stream that every thread has its own of.
const PER_THREAD: usize = 2;

impl DeviceStream {
    /// A stream that was made elsewhere, of the context that it belongs to.
    ///
    /// # Errors
    ///
    /// [`CudaError::Call`] where the driver refuses a memory pool.
    pub fn given(stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        let device = CudaDevice::of_context(Arc::clone(stream.context()))?;
        Self::of_device(&device, stream)
    }

    /// A stream of this device, with the device's memory pool.
    ///
    /// # Errors
    ///
    /// [`CudaError::WrongDevice`] for a stream of another device, [`CudaError::WrongContext`] for one
    /// of another context, and for the per-thread default stream, which is another one wherever the
    /// pool moves.
    pub fn of_device(device: &CudaDevice, stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        check_context(device.context(), &stream)?;
        if is_per_thread(&stream) {
            return Err(CudaError::WrongContext { ordinal: device.ordinal() });
        }
        Self::new(device.clone(), stream, None)
    }

    /// A stream whose pool takes its blocks from a source: for streams that are captured.
    ///
    /// What would wait on the host, or copy host memory that nobody keeps, is refused by
    /// [`CudaError::Capturing`] without asking the driver: [`synchronize`](Self::synchronize), copies to
    /// the host, and copies of slices from it. Fills, copies on the device, shapes and launches work.
    ///
    /// # Errors
    ///
    /// [`CudaError::WrongContext`] for the per-thread default stream.
    pub fn of_source(stream: Arc<CudaStream>, source: impl BlockSource) -> Result<Self, CudaError> {
        if is_per_thread(&stream) {
            return Err(CudaError::WrongContext {
                ordinal: crate::stream::device::ordinal(stream.context()),
            });
        }
        let device = CudaDevice::without_allocations(Arc::clone(stream.context()));
        Self::new(device, stream, Some(Box::new(source)))
    }

    fn new(
        device: CudaDevice,
        stream: Arc<CudaStream>,
        source: Option<Box<dyn BlockSource>>,
    ) -> Result<Self, CudaError> {
        let place = Place::new()?;
        announce(&stream);
        Ok(Self {
            foreign: ForeignUses::default(),
            staging: Staging::default(),
            deferred: Cell::default(),
            spares: Cell::default(),
            place,
            shapes: Arc::default(),
            unanswered: Cell::new(None),
            source,
            watch: None,
            stream,
            device,
        })
    }

    /// The same stream, with somebody who is told of every block of its pool, and may refuse it.
    #[must_use]
    pub fn watched(mut self, watch: impl BlockWatch) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    pub(crate) fn watch(&self) -> Option<&dyn BlockWatch> {
        self.watch.as_deref()
    }

    /// The stream of this thread, on the device that it has [chosen](crate::Cuda::set_device): made at
    /// the first call, kept until the thread ends. Its pools share it, so that their views can be
    /// arguments of one launch.
    ///
    /// # Errors
    ///
    /// As [`Cuda::device`](crate::Cuda::device) and [`CudaDevice::new_stream`].
    pub fn of_thread() -> Result<Self, CudaError> {
        let (device, stream) = crate::stream::thread::device_and_stream()?;
        Self::of_device(&device, stream)
    }

    /// Whether this is the stream that [`of_thread`](Self::of_thread) would give.
    #[must_use]
    pub fn is_of_thread(&self) -> bool {
        crate::stream::thread::is_stream(&self.device, &self.stream)
    }

    /// The device.
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
    /// where the pool has a [source](Self::of_source).
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.refuse_with_source("be waited for")?;
        calls::synchronize(&self.stream)
    }

    /// Takes the last error of a call that could not answer one: freeing, trimming, or giving out a
    /// pointer through cudarc's traits. It is never mixed into the answers of later calls.
    #[must_use]
    pub fn take_unanswered(&self) -> Option<CudaError> {
        self.unanswered.take()
    }

    /// Stops, or starts again, to order other streams that the pool's memory is used on.
    ///
    /// # Safety
    ///
    /// While it is off, whoever uses memory of the pool on another stream sees to it that this comes
    /// after the work before it on the pool's stream, and before whatever the pool does with the
    /// memory later.
    pub unsafe fn order_foreign_streams(&self, on: bool) {
        self.foreign.set_on(on);
    }

    /// Makes the stream come after all other streams that memory of its pool was used on, and after
    /// all that they hold now.
    ///
    /// The pool does this by itself for a block that is used again. What this is for is the end of a
    /// capture, or of a part of it: there the streams must have come together.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capturing`] where one of the streams is being captured and the other is not, and
    /// [`CudaError::Call`] where the driver fails to order them.
    pub fn join_other_streams(&self) -> Result<(), CudaError> {
        self.foreign.join_all(&self.stream)
    }

    /// Waits, on the host, for all work of the context.
    pub(crate) fn wait_for_all(&self) -> Result<(), CudaError> {
        self.refuse_with_source("be waited for")?;
        calls::synchronize_context(self.device.context())
    }

    pub(crate) fn foreign(&self) -> &ForeignUses {
        &self.foreign
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

    /// Whether nothing is put on the stream, and addresses are of no memory.
    pub(crate) fn is_dry(&self) -> bool {
        self.source().is_some_and(BlockSource::is_dry)
    }

    /// Whether memory of both streams' pools lives and dies together, as far as graphs are concerned.
    pub(crate) fn check_owner(&self, other: &Self) -> Result<(), CudaError> {
        let owner = |stream: &Self| stream.source().map(BlockSource::owner);
        if owner(self) == owner(other) {
            return Ok(());
        }
        Err(CudaError::Capturing { operation: "copy memory that its graph does not own" })
    }

    /// Whether another stream may be made to come after this one; true where the source said so, which
    /// then also has said what becomes of a stream that is not captured yet.
    pub(crate) fn admit(&self, other: &CudaStream) -> Result<bool, CudaError> {
        match self.source() {
            None => Ok(false),
            Some(source) if source.is_dry() => {
                Err(CudaError::Capturing { operation: "use memory of a dry run on a real stream" })
            }
            Some(source) => source.admit(other).map(|()| true),
        }
    }

    fn refuse_with_source(&self, operation: &'static str) -> Result<(), CudaError> {
        match self.source {
            Some(_) => Err(CudaError::Capturing { operation }),
            None => Ok(()),
        }
    }

    /// Makes the device's context the thread's current one.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        bind(self.device.context())
    }

    /// Binds, and refuses while the stream is captured: for what cannot become part of a graph.
    pub(crate) fn bind_outside_capture(&self, operation: &'static str) -> Result<(), CudaError> {
        self.refuse_with_source(operation)?;
        match is_capturing(&self.stream)? {
            true => Err(CudaError::Capturing { operation }),
            false => Ok(()),
        }
    }

    /// Keeps an error that cannot be answered; the last one counts.
    pub(crate) fn keep_unanswered(&self, result: Result<(), CudaError>) {
        if let Err(error) = result {
            self.unanswered.set(Some(error));
        }
    }

    /// Allocates memory that the stream's work may use.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Address, CudaError> {
        if let Some(source) = self.source() {
            return source.allocate(bytes);
        }
        let spare = Chain::of(0)?;
        leftovers::try_again();
        self.bind_outside_capture("allocate memory")?;
        self.free_deferred();
        let allocated = match self.device.memory_pool() {
            // SAFETY: the memory pool is the device's, which is that of the stream.
            Some(pool) => unsafe { calls::allocate_in_order(pool.handle(), bytes, &self.stream) },
            None => calls::allocate(bytes, self.device.context()),
        };
        let address = allocated.map_err(|error| match error.code() {
            Some(crate::DriverCode::OUT_OF_MEMORY) => {
                let memory = calls::device_memory(self.device.context()).ok();
                CudaError::OutOfMemory { requested: bytes, memory }
            }
            _ => error,
        })?;
        link(&self.spares, spare);
        Ok(address)
    }

    /// Frees memory after all that the stream holds now.
    ///
    /// # Safety
    ///
    /// The address came from [`allocate`](Self::allocate) of a stream of the same device object, was
    /// not freed, and all that uses it is in this stream or done.
    pub(crate) unsafe fn free(&self, address: Address) -> Result<(), CudaError> {
        if let Some(source) = self.source() {
            // Where its users on other streams cannot be waited for, the block is nobody's until the
            // source is gone.
            self.foreign.settle(address, &self.stream)?;
            // SAFETY: the caller's promise.
            unsafe { source.free(address) };
            return Ok(());
        }
        let freed = match self.bind_outside_capture("free memory") {
            Ok(()) => {
                self.free_deferred();
                // SAFETY: the caller's promise.
                unsafe { self.free_now(address) }
            }
            Err(error) => Err(error),
        };
        // One for each block.
        let mut spare = unlink(&self.spares);
        match freed {
            Ok(()) => Ok(()),
            Err(error) => {
                spare.iter_mut().for_each(|place| *place = address);
                link(&self.deferred, spare);
                if matches!(error, CudaError::Capturing { .. }) { Ok(()) } else { Err(error) }
            }
        }
    }

    /// # Safety
    ///
    /// As for [`free`](Self::free).
    unsafe fn free_now(&self, address: Address) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { free_block(address, &self.foreign, &self.stream, &self.device) }
    }

    /// Frees what could not be freed before. The stream is not captured.
    fn free_deferred(&self) {
        let mut deferred = self.deferred.take();
        while let Some(one) = deferred.pop() {
            let freed = one.iter().try_for_each(|address| {
                // SAFETY: `free` was promised that this address may be freed.
                unsafe { self.free_now(*address) }
            });
            if freed.is_err() {
                link(&self.deferred, one);
            }
            self.keep_unanswered(freed);
        }
    }

    /// Waits until what was freed is free, and gives it back to the device. Does nothing in a capture.
    pub(crate) fn settle(&self) -> Result<(), CudaError> {
        if self.source.is_some() {
            return Ok(());
        }
        if is_capturing(&self.stream)? {
            return Ok(());
        }
        self.free_deferred();
        calls::synchronize(&self.stream)?;
        self.device.memory_pool().map_or(Ok(()), crate::driver::memory_pool::MemoryPool::trim)
    }
}

/// Whether this is a default stream, of which everybody may get another reference.
pub(crate) fn is_default(stream: &CudaStream) -> bool {
    stream.cu_stream().addr() <= PER_THREAD
}

/// Links more. Nothing foreign runs between the two calls of the cell.
fn link(all: &Cell<Chain<Address>>, more: Chain<Address>) {
    let mut links = all.take();
    links.add(more);
    all.set(links);
}

/// Unlinks one; nothing where there is none.
fn unlink(all: &Cell<Chain<Address>>) -> Chain<Address> {
    let mut links = all.take();
    let one = links.pop();
    all.set(links);
    one.unwrap_or_default()
}

/// Whether this is the default stream that every thread has its own of.
pub(crate) fn is_per_thread(stream: &CudaStream) -> bool {
    stream.cu_stream().addr() == PER_THREAD
}

/// Checks that a stream belongs to a context.
pub(crate) fn check_context(context: &CudaContext, stream: &CudaStream) -> Result<(), CudaError> {
    let (own, other) =
        (crate::stream::device::ordinal(context), crate::stream::device::ordinal(stream.context()));
    if own != other {
        return Err(CudaError::WrongDevice { memory: own, stream: other });
    }
    if context.cu_ctx() != stream.context().cu_ctx() {
        return Err(CudaError::WrongContext { ordinal: own });
    }
    Ok(())
}

/// Frees a block behind all that uses it: what the stream holds, and other streams that were noted.
///
/// # Safety
///
/// The stream is not captured, and the rest as for [`DeviceStream::free`].
pub(crate) unsafe fn free_block(
    address: Address,
    foreign: &ForeignUses,
    stream: &CudaStream,
    device: &CudaDevice,
) -> Result<(), CudaError> {
    if !foreign.is_empty() {
        foreign.settle(address, stream)?;
    }
    if device.has_memory_pool() {
        // SAFETY: allocated in order (the device has a memory pool), and its users come before.
        return unsafe { calls::free_in_order(address, stream) };
    }
    calls::synchronize(stream)?;
    // SAFETY: allocated plainly, in the stream's context, and all that uses it was just waited for.
    unsafe { calls::free(address, stream.context()) }
}

/// Gives back what the pool left: its blocks were freed before, or are still to be. Where that cannot
/// be, because the stream is captured or the driver refuses, it is done later.
///
/// What came from a [source](BlockSource) is not the driver's to free: it is in memory that the source got
/// elsewhere, which may still be used when the pool is gone, as the arena of a graph is. It goes with the source.
impl Drop for DeviceStream {
    fn drop(&mut self) {
        leftovers::try_again();
        if self.source.is_some() {
            return;
        }
        // The pool is gone, and with it every view through which a shape could be used; what used one is
        // in this stream, or was made to come before its end when the slot of its view was freed.
        let (slabs, addresses) = (self.shapes.take_slabs(), self.deferred.take());
        if slabs.is_empty() && addresses.is_empty() {
            return;
        }
        self.place.give_back(Leftover::Blocks(LeftBlocks {
            addresses,
            slabs,
            foreign: std::mem::take(&mut self.foreign),
            stream: Arc::clone(&self.stream),
            device: self.device.clone(),
        }));
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
