//! What a body did so far, and what it takes its memory from: the capture and the pools of its scopes
//! have it together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pool_cuda::cudarc::driver::CudaStream;

use super::error::CaptureError;
use super::foreign_memory::Span;
use super::frontiers::Frontiers;
use super::model::Model;
use super::region::{Markers, Place, Region};
use super::trace::{Step, Trace};
use crate::arena::CudaArena;
use crate::captured::{HostBuffer, Shares};

/// A body's account, and its source of memory.
pub(super) struct Record {
    id: u64,
    streams: Vec<Arc<CudaStream>>,
    is_dry: bool,
    /// None in a dry run, and once the capture is over: pools that were forgotten keep no memory.
    arena: Mutex<Option<CudaArena>>,
    /// The trace to follow.
    planned: Option<Trace>,
    recorded: Mutex<Recorded>,
}

/// What the body did so far.
pub(super) struct Recorded {
    /// The number of the capture.
    pub(super) capture: u64,
    pub(super) model: Model,
    pub(super) trace: Trace,
    pub(super) regions: Vec<Region>,
    /// How many of them are temporaries.
    temporaries: usize,
    pub(super) frontiers: Frontiers,
    /// The operations that were put on streams.
    pub(super) operations: Vec<Span>,
    /// What the blocks of the session are used for.
    pub(super) shares: Shares,
    /// An argument of no bytes needs no memory.
    pub(super) host: Vec<Option<HostBuffer>>,
    /// What went wrong where nobody could be told.
    pub(super) broken: Option<CaptureError>,
    /// Of each stream, what is put there without being noted here.
    open: Vec<Open>,
    /// Where the next temporary of a dry run begins.
    dry: u64,
}

/// Work of scopes and lent views on a stream: nothing tells of each of their operations.
#[derive(Clone, Debug, Default)]
struct Open {
    guards: usize,
    scope: bool,
    /// Other streams that were given memory of theirs.
    touched: Vec<usize>,
}

/// Where a dry run puts its temporaries: where no device has memory.
const DRY_BASE: u64 = 1 << 62;

impl Record {
    pub(super) fn new(
        streams: &[Arc<CudaStream>],
        arena: Option<&CudaArena>,
        planned: Option<&Trace>,
        id: Option<u64>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = id.unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
        Self {
            id,
            streams: streams.to_vec(),
            is_dry: arena.is_none(),
            arena: Mutex::new(arena.map(|arena| CudaArena::of_shared(Arc::clone(arena.shared())))),
            planned: planned.cloned(),
            recorded: Mutex::new(Recorded::new(id, streams.len())),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The driver's capture has begun.
    pub(super) fn begun(&self, capture: u64) {
        self.lock().frontiers = Frontiers::new(self.streams.len(), capture);
    }

    pub(super) fn is_dry(&self) -> bool {
        self.is_dry
    }

    pub(super) fn streams(&self) -> &[Arc<CudaStream>] {
        &self.streams
    }

    /// What the body did so far. Never held while code of the body, or a drop, may run.
    pub(super) fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock()
    }

    /// The account is closed.
    pub(super) fn finish(&self) -> Recorded {
        drop(self.arena.lock().take());
        std::mem::replace(&mut *self.lock(), Recorded::new(self.id, 0))
    }

    /// Notes a step, which must be that of the plan, if there is one.
    pub(super) fn step(&self, step: &Step) -> Result<(), CaptureError> {
        let mut recorded = self.lock();
        recorded.trace.add(step);
        match &self.planned {
            Some(planned) if !recorded.trace.begins(planned) => Err(CaptureError::Diverged {
                step: recorded.trace.steps(),
                planned: planned.steps(),
            }),
            _ => Ok(()),
        }
    }

    /// The handles of the nodes that a stream has come to by this capture's work, and by nobody else's;
    /// none in a dry run. While a scope is open there, or a view is lent, their work is not told apart.
    pub(super) fn expect(&self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        if self.is_dry() {
            return Ok(Vec::new());
        }
        let recorded = self.lock();
        if recorded.may_hold_more(stream) {
            drop(recorded);
            return self.frontier(stream);
        }
        recorded.frontiers.check(&self.streams, stream)
    }

    /// Work of a scope, or with a lent view, is over: the streams stand where it left them.
    pub(super) fn close(&self, stream: usize) -> Result<(), CaptureError> {
        let mut recorded = self.lock();
        let moved = recorded.close(stream);
        self.arrive(&mut recorded, moved)
    }

    /// Does what may make streams of the capture wait for each other, by other ways than this account.
    pub(super) fn moves_streams(&self, work: impl FnOnce()) -> Result<(), CaptureError> {
        let begun = |stream: &usize| *stream == 0 || self.lock().model.has_begun(*stream);
        let streams: Vec<usize> = (0..self.streams.len()).filter(begun).collect();
        streams.iter().try_for_each(|&stream| self.expect(stream).map(drop))?;
        work();
        self.arrive(&mut self.lock(), streams)
    }

    /// These streams stand where they were left just now.
    fn arrive(&self, recorded: &mut Recorded, streams: Vec<usize>) -> Result<(), CaptureError> {
        if self.is_dry() {
            return Ok(());
        }
        let mut arrive = |stream| recorded.frontiers.arrive(&self.streams, stream).map(drop);
        streams.into_iter().try_for_each(&mut arrive)
    }

    /// The handles of the nodes that a stream has come to; none in a dry run.
    fn frontier(&self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        if self.is_dry() {
            return Ok(Vec::new());
        }
        self.lock().frontiers.now(&self.streams[stream])
    }

    /// Takes bytes for a stream that has begun; the number of their region.
    pub(super) fn acquire(&self, step: &Step, kept: bool) -> Result<usize, CaptureError> {
        let (Step::Acquire { stream, bytes } | Step::Block { stream, bytes }) = *step else {
            return Err(CaptureError::Spoiled);
        };
        self.step(step)?;
        let after = self.expect(stream)?;
        let (address, offset) = self.take(bytes)?;
        let mut recorded = self.lock();
        let taken_by = recorded.model.operation(stream);
        let place = Place { address, bytes, offset };
        let region = Region::temporary(recorded.temporaries, stream, place, after);
        recorded.temporaries += 1;
        recorded.regions.push(Region { taken_by, kept, ..region });
        Ok(recorded.regions.len() - 1)
    }

    /// The address of new bytes, and where they lie in the arena.
    fn take(&self, bytes: u64) -> Result<(u64, u64), CaptureError> {
        if !self.is_dry {
            let arena = self.arena.lock();
            let region = arena.as_ref().ok_or(CaptureError::Spoiled)?.allocate(bytes)?;
            return Ok((region.device_pointer(), region.offset()));
        }
        let mut recorded = self.lock();
        let address = recorded.dry;
        let overflow = CaptureError::SizeOverflow {
            elements: usize::try_from(bytes).unwrap_or(usize::MAX),
            size: 1,
        };
        recorded.dry = address.checked_add(bytes).ok_or(overflow)?;
        Ok((address, address - DRY_BASE))
    }

    /// A region is not used by its view any more: an arena that rewinds may have its bytes.
    pub(super) fn release(&self, region: usize) {
        let over = {
            let recorded = self.lock();
            let region = &recorded.regions[region];
            // What is lent still, to a guard that was forgotten, stays.
            (region.is_temporary() && !region.lent).then_some(region.address)
        };
        if let (Some(arena), Some(address)) = (&*self.arena.lock(), over) {
            let _ended = arena.deallocate(address);
        }
    }

    /// The capture forks: whether its arena allows that.
    pub(super) fn fork(&self) -> Result<(), CaptureError> {
        self.arena.lock().as_ref().map_or(Ok(()), |arena| Ok(arena.forked()?))
    }

    /// Another stream of the session is about to come after this one, to use memory of its scopes.
    pub(super) fn admit(&self, stream: usize, other: usize) -> Result<(), CaptureError> {
        if stream == other {
            return Ok(());
        }
        self.fork()?;
        self.expect(other)?;
        let mut recorded = self.lock();
        recorded.model.operation(stream);
        recorded.model.wait(other, stream);
        if !recorded.open[stream].touched.contains(&other) {
            recorded.open[stream].touched.push(other);
        }
        Ok(())
    }

    /// What is kept is used until the end: by the last operation, which comes after all others.
    pub(super) fn keep_to_the_end(&self) -> Result<(), CaptureError> {
        let nodes = self.frontier(0)?;
        let mut recorded = self.lock();
        let stays = |region: &Region| region.is_temporary() && (region.kept || region.lent);
        if !recorded.regions.iter().any(stays) {
            return Ok(());
        }
        let operation = recorded.model.operation(0);
        for region in recorded.regions.iter_mut().filter(|region| stays(region)) {
            region.used(0, true, Markers { operation, nodes: nodes.clone() });
        }
        Ok(())
    }
}

impl Recorded {
    fn new(capture: u64, streams: usize) -> Self {
        Self {
            capture,
            model: Model::new(streams),
            frontiers: Frontiers::new(streams, 0),
            operations: Vec::new(),
            trace: Trace::default(),
            regions: Vec::new(),
            temporaries: 0,
            shares: Shares::default(),
            host: Vec::new(),
            broken: None,
            open: vec![Open::default(); streams],
            dry: DRY_BASE,
        }
    }

    /// Whether a stream has to wait so that its next operation comes after all of another one's.
    pub(super) fn must_wait(&mut self, later: usize, earlier: usize) -> bool {
        if later != earlier && self.may_hold_more(earlier) {
            self.model.operation(earlier);
        }
        self.model.must_wait(later, earlier)
    }

    /// Whether a stream may hold work that was not noted.
    fn may_hold_more(&self, stream: usize) -> bool {
        let touches = |open: &Open| open.guards > 0 && open.touched.contains(&stream);
        self.open[stream].guards > 0 || self.open.iter().any(touches)
    }

    /// Work that is not noted begins on a stream.
    pub(super) fn open(&mut self, stream: usize) {
        self.open[stream].guards += 1;
    }

    /// Some such work is over, and the stream has come after what others did of it: now it is noted, as
    /// one operation of each. Which streams those are.
    fn close(&mut self, stream: usize) -> Vec<usize> {
        let mut open = std::mem::take(&mut self.open[stream]);
        for &other in &open.touched {
            self.model.operation(other);
        }
        self.model.operation(stream);
        let moved = open.touched.iter().copied().chain([stream]).collect();
        open.guards = open.guards.saturating_sub(1);
        if open.guards == 0 {
            open.touched.clear();
        }
        self.open[stream] = open;
        moved
    }

    /// The one scope of a stream; false where there is one.
    pub(super) fn open_scope(&mut self, stream: usize) -> bool {
        !std::mem::replace(&mut self.open[stream].scope, true)
    }

    pub(super) fn close_scope(&mut self, stream: usize) {
        self.open[stream].scope = false;
    }
}
