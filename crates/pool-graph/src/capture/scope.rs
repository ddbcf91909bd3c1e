//! The scope of a body: it takes memory, puts work on the session's streams, and sees to it that what
//! uses the same memory is ordered.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pool_core::{Element, PodElement};
use pool_cuda::cudarc::driver::CudaStream;

use super::driver::OrderEvent;
use super::error::CaptureError;
use super::frontiers::Frontiers;
use super::model::Model;
use super::region::{Markers, Region};
use super::trace::{Step, Trace};
use super::view::{CaptureView, Use};
use crate::arena::CudaArena;
use crate::block::GraphMemoryBlock;
use crate::captured::{HostBuffer, lease_of};
use crate::lease::Lease;
use crate::request::GRANULE;

/// A stream of the session, in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaptureStream(usize);

/// Host memory that the graph copies from in each replay; see
/// [`CapturedGraph::set_argument`](crate::CapturedGraph::set_argument).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostArgument {
    pub(crate) capture: u64,
    pub(crate) number: usize,
}

/// The body's side of a capture, or of a dry run: acquires come from the arena, and operations go to
/// the streams of the session.
///
/// What uses the same memory on several streams is ordered by the capture: a stream waits for the last
/// writer before it reads, and for readers, too, before it writes. Streams that use nothing in common
/// stay apart, unless [`wait`](Self::wait) says otherwise.
pub struct Capture<'c> {
    id: u64,
    streams: &'c [Arc<CudaStream>],
    leases: &'c [Lease],
    /// None in a dry run.
    live: Option<Live<'c>>,
    /// The trace to follow.
    planned: Option<&'c Trace>,
    pub(super) recorded: RefCell<Recorded>,
}

/// What a capture has and a dry run has not.
pub(super) struct Live<'c> {
    pub(super) arena: &'c CudaArena,
    pub(super) event: &'c OrderEvent,
}

/// What the body did so far. Never borrowed while code of the body, or a drop, may run.
pub(super) struct Recorded {
    /// The number of the capture.
    pub(super) capture: u64,
    pub(super) model: Model,
    pub(super) trace: Trace,
    pub(super) regions: Vec<Region>,
    frontiers: Frontiers,
    /// An argument of no bytes needs no memory.
    pub(super) host: Vec<Option<HostBuffer>>,
    /// Where the next temporary of a dry run begins.
    dry: u64,
}

/// Where a dry run puts its temporaries: where no device has memory.
const DRY_BASE: u64 = 1 << 62;

impl<'c> Capture<'c> {
    pub(super) fn new(
        streams: &'c [Arc<CudaStream>],
        leases: &'c [Lease],
        live: Option<Live<'c>>,
        planned: Option<&'c Trace>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let recorded = Recorded {
            capture: id,
            model: Model::new(streams.len()),
            trace: Trace::default(),
            regions: Vec::new(),
            frontiers: Frontiers::new(streams.len()),
            host: Vec::new(),
            dry: DRY_BASE,
        };
        Self { id, streams, leases, live, planned, recorded: RefCell::new(recorded) }
    }

    pub(super) fn into_recorded(self) -> Recorded {
        self.recorded.into_inner()
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Whether this is a dry run: nothing is put on streams, and memory is addresses alone.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        self.live.is_none()
    }

    /// The stream of the session.
    #[must_use]
    pub fn main(&self) -> CaptureStream {
        CaptureStream(0)
    }

    /// A branch of the session, counted from 0 in the order in which it got them.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NoSuchBranch`].
    pub fn branch(&self, branch: usize) -> Result<CaptureStream, CaptureError> {
        let branches = self.streams.len() - 1;
        if branch < branches {
            return Ok(CaptureStream(branch + 1));
        }
        Err(CaptureError::NoSuchBranch { asked: branch, branches })
    }

    /// A temporary of so many elements, first used on the session's stream or after what that holds
    /// now. Its contents are whatever the bytes held.
    ///
    /// # Errors
    ///
    /// As [`acquire_on`](Self::acquire_on).
    pub fn acquire<T: PodElement>(
        &'c self,
        elements: usize,
    ) -> Result<CaptureView<'c, T>, CaptureError> {
        self.acquire_on(self.main(), elements)
    }

    /// A temporary that is first used on this stream, or after what it holds now.
    ///
    /// # Errors
    ///
    /// If the arena has no room or another plan, and if the size is more than an address can say.
    pub fn acquire_on<T: PodElement>(
        &'c self,
        stream: CaptureStream,
        elements: usize,
    ) -> Result<CaptureView<'c, T>, CaptureError> {
        let stream = self.check(stream)?;
        let bytes = rounded::<T>(elements)?;
        self.begin(stream)?;
        self.step(&Step::Acquire { stream, bytes })?;
        let after = self.expect(stream)?;
        let (address, offset) = self.take(bytes)?;
        let mut recorded = self.recorded.borrow_mut();
        let taken_by = recorded.model.operation(stream);
        recorded.regions.push(Region {
            address,
            bytes,
            offset: Some(offset),
            taken_by,
            after,
            writer: stream,
            readers: Vec::new(),
            users: std::collections::BTreeMap::new(),
            written: false,
        });
        Ok(CaptureView::new(self, recorded.regions.len() - 1, elements))
    }

    /// A block of a pool, as elements: what the graph reads and writes for others. Of elements as many
    /// as fit.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NotLeased`] where no lease of the session holds it, [`CaptureError::WrongContext`]
    /// where it is another device's.
    pub fn block<T: Element>(
        &'c self,
        block: &GraphMemoryBlock,
    ) -> Result<CaptureView<'c, T>, CaptureError> {
        let (address, bytes) = (block.device_pointer(), block.size());
        let Some(lease) = lease_of(self.leases, block) else {
            return Err(CaptureError::NotLeased { address, bytes });
        };
        let own = self.streams[0].context();
        if let Some(other) = lease.context().filter(|other| other.cu_ctx() != own.cu_ctx()) {
            let (session, other) = (own.ordinal(), other.ordinal());
            return Err(CaptureError::WrongContext { session, other });
        }
        let mut recorded = self.recorded.borrow_mut();
        let same = |region: &Region| !region.is_temporary() && region.address == address;
        let region = match recorded.regions.iter().position(same) {
            Some(region) => region,
            None => {
                recorded.regions.push(Region {
                    address,
                    bytes,
                    offset: None,
                    taken_by: 0,
                    after: Vec::new(),
                    writer: 0,
                    readers: Vec::new(),
                    users: std::collections::BTreeMap::new(),
                    written: false,
                });
                recorded.regions.len() - 1
            }
        };
        let elements = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<T>().max(1);
        Ok(CaptureView::new(self, region, elements))
    }

    /// Makes a stream come after all that another one holds now.
    ///
    /// # Errors
    ///
    /// What the driver refuses, and where the arena allows one stream alone.
    pub fn wait(&self, later: CaptureStream, earlier: CaptureStream) -> Result<(), CaptureError> {
        let (later, earlier) = (self.check(later)?, self.check(earlier)?);
        self.step(&Step::Wait { later, earlier })?;
        self.begin(later)?;
        self.order(later, earlier)
    }

    /// Notes an operation, orders its stream after who used the same memory, and puts it there.
    pub(super) fn operation(
        &self,
        kind: &'static str,
        stream: CaptureStream,
        uses: &[Use<'_>],
        work: impl FnOnce(&Arc<CudaStream>) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        let stream = self.check(stream)?;
        if uses.iter().any(|one| one.capture != self.id) {
            return Err(CaptureError::ForeignView);
        }
        let of_step = uses.iter().map(|one| (one.region, one.writes)).collect();
        self.step(&Step::Operation { kind, stream, uses: of_step })?;
        self.begin(stream)?;
        for one in uses {
            let before = self.recorded.borrow().regions[one.region].waited_for(one.writes);
            for earlier in before {
                self.order(stream, earlier)?;
            }
        }
        let before = self.expect(stream)?;
        let mut worked = Ok(());
        let mut nodes = Vec::new();
        if !self.is_dry() {
            self.recorded.borrow_mut().frontiers.leave(stream);
            worked = work(&self.streams[stream]);
            // What failed halfway has put something on the stream by then, and that uses the memory.
            nodes = self.recorded.borrow_mut().frontiers.arrive(self.streams, stream)?;
            nodes.retain(|node| !before.contains(node));
        }
        let mut recorded = self.recorded.borrow_mut();
        let operation = recorded.model.operation(stream);
        for one in uses {
            let markers = Markers { operation, nodes: nodes.clone() };
            recorded.regions[one.region].used(stream, one.writes, markers);
        }
        worked
    }

    /// Joins every branch: a graph ends in one stream. Nobody else has put anything on any of them.
    pub(super) fn join_all(&self) -> Result<(), CaptureError> {
        (1..self.streams.len()).try_for_each(|branch| {
            let begun = self.recorded.borrow().model.has_begun(branch);
            if begun { self.order(0, branch) } else { Ok(()) }
        })?;
        (0..self.streams.len()).try_for_each(|stream| self.expect(stream).map(drop))
    }

    /// Takes a stream into the capture: it comes after what the session's stream holds.
    fn begin(&self, stream: usize) -> Result<(), CaptureError> {
        let begun = self.recorded.borrow().model.has_begun(stream);
        if begun { Ok(()) } else { self.order(stream, 0) }
    }

    fn order(&self, later: usize, earlier: usize) -> Result<(), CaptureError> {
        if !self.recorded.borrow().model.must_wait(later, earlier) {
            return Ok(());
        }
        if let Some(live) = &self.live {
            live.arena.forked()?;
            self.expect(later)?;
            self.expect(earlier)?;
            self.recorded.borrow_mut().frontiers.leave(later);
            live.event.order(&self.streams[later], &self.streams[earlier])?;
            self.recorded.borrow_mut().frontiers.arrive(self.streams, later)?;
        }
        self.recorded.borrow_mut().model.wait(later, earlier);
        Ok(())
    }

    /// The address of new bytes, and where they lie in the arena.
    fn take(&self, bytes: u64) -> Result<(u64, u64), CaptureError> {
        if let Some(live) = &self.live {
            let region = live.arena.allocate(bytes)?;
            return Ok((region.device_pointer(), region.offset()));
        }
        let mut recorded = self.recorded.borrow_mut();
        let address = recorded.dry;
        let overflow = CaptureError::SizeOverflow {
            elements: usize::try_from(bytes).unwrap_or(usize::MAX),
            size: 1,
        };
        recorded.dry = address.checked_add(bytes).ok_or(overflow)?;
        Ok((address, address - DRY_BASE))
    }

    /// The handles of the nodes that a stream has come to by this capture's work, and by nobody else's;
    /// none in a dry run.
    fn expect(&self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        if self.is_dry() {
            return Ok(Vec::new());
        }
        self.recorded.borrow().frontiers.check(self.streams, stream)
    }

    /// Notes a step, which must be that of the plan, if there is one.
    fn step(&self, step: &Step) -> Result<(), CaptureError> {
        let mut recorded = self.recorded.borrow_mut();
        recorded.trace.add(step);
        match self.planned {
            Some(planned) if !recorded.trace.begins(planned) => Err(CaptureError::Diverged {
                step: recorded.trace.steps(),
                planned: planned.steps(),
            }),
            _ => Ok(()),
        }
    }

    fn check(&self, stream: CaptureStream) -> Result<usize, CaptureError> {
        let branches = self.streams.len() - 1;
        match stream.0 {
            known if known <= branches => Ok(known),
            other => Err(CaptureError::NoSuchBranch { asked: other - 1, branches }),
        }
    }

    pub(super) fn address(&self, region: usize) -> u64 {
        self.recorded.borrow().regions[region].address
    }

    /// A view is gone: an arena that rewinds may have its bytes.
    pub(super) fn release(&self, region: usize) {
        let region = self.recorded.borrow().regions[region].clone();
        if let (Some(live), true) = (&self.live, region.is_temporary()) {
            let _ended = live.arena.deallocate(region.address);
        }
    }
}

/// Bytes of so many elements, in whole granules: at least one.
fn rounded<T>(elements: usize) -> Result<u64, CaptureError> {
    let size = size_of::<T>();
    let overflow = CaptureError::SizeOverflow { elements, size };
    let bytes = elements.checked_mul(size).and_then(|bytes| u64::try_from(bytes).ok());
    let whole = bytes.and_then(|bytes| bytes.max(1).checked_next_multiple_of(GRANULE));
    whole.filter(|&bytes| i64::try_from(bytes).is_ok()).ok_or(overflow)
}

impl fmt::Debug for Capture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recorded = self.recorded.borrow();
        f.debug_struct("Capture")
            .field("dry", &self.is_dry())
            .field("streams", &self.streams.len())
            .field("steps", &recorded.trace.steps())
            .finish_non_exhaustive()
    }
}
