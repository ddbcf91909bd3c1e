//! What a body did so far, and what it takes its memory from: the capture and the pools of its scopes
//! have it together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pool_cuda::cudarc::driver::CudaStream;

use super::driver::Onlooker;
use super::error::CaptureError;
use super::frontiers::Frontiers;
use super::model::Model;
use super::region::{Markers, Place, Region};
use super::span::{Account, Span};
use super::trace::{Step, Trace};
use super::view::Use;
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
    /// What was put on streams, piece by piece.
    pub(super) spans: Vec<Span>,
    /// What the blocks of the session are used for.
    pub(super) shares: Shares,
    /// What copies of the graph read: host arguments, and values of scopes and lent views.
    pub(super) host: Vec<Option<HostBuffer>>,
    /// Where each host argument is among them; one of no bytes needs no memory. Scopes and lent views are no steps,
    /// so what they put there has no part in the names of arguments.
    pub(super) arguments: Vec<Option<usize>>,
    /// What went wrong where nobody could be told.
    pub(super) broken: Option<CaptureError>,
    /// The nodes that streams came to, by handle: the how many-th each was.
    met: HashMap<u64, usize>,
    /// Of each stream, what is put there without being noted here.
    open: Vec<Open>,
    /// Where the next temporary of a dry run begins.
    dry: u64,
}

/// Work of scopes and lent views on a stream: nothing tells of each of their operations.
#[derive(Clone, Debug, Default)]
struct Open {
    guards: usize,
    /// Of the span that is not over: how many were before it, and where the stream stood.
    begun: usize,
    before: Vec<u64>,
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
            arena: Mutex::new(arena.map(|arena| CudaArena::of_session(Arc::clone(arena.shared())))),
            planned: planned.cloned(),
            recorded: Mutex::new(Recorded::new(id, streams.len())),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The driver's capture has begun.
    pub(super) fn begun(&self, onlooker: Onlooker) {
        self.lock().frontiers = Frontiers::new(self.streams.len(), Some(onlooker));
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
        let arena = self.arena.lock().take();
        drop(arena);
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

    /// Names a host argument: the same steps give the same names.
    pub(super) fn name_argument(&self) -> Result<usize, CaptureError> {
        let number = self.lock().arguments.len();
        self.step(&Step::Argument { number })?;
        self.lock().arguments.push(None);
        Ok(number)
    }

    /// The memory of a host argument, kept whatever becomes of its copy.
    pub(super) fn keep_argument(&self, number: usize, buffer: HostBuffer) {
        let Recorded { host, arguments, .. } = &mut *self.lock();
        if let Some(argument) = arguments.get_mut(number) {
            *argument = Some(host.len());
        }
        host.push(Some(buffer));
    }

    /// The handles of the nodes that a stream has come to by this capture's work, and by nobody else's;
    /// none in a dry run. While a scope is open there, or a view is lent, their work is not told apart.
    pub(super) fn expect(&self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        if self.is_dry() {
            return Ok(Vec::new());
        }
        let mut recorded = self.lock();
        if recorded.may_hold_more(stream) {
            drop(recorded);
            return self.frontier(stream);
        }
        let begun = recorded.model.has_begun(stream);
        let nodes = recorded.frontiers.check(&self.streams, stream, begun)?;
        recorded.meet(&nodes);
        Ok(nodes)
    }

    /// Work of a scope, or with a lent view, is over: the streams stand where it left them. The handles of
    /// the nodes that this one has come to.
    pub(super) fn close(&self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        let moved = self.lock().close(stream);
        let after = self.arrive(&moved)?;
        let mut recorded = self.lock();
        recorded.end_span(stream, after);
        Ok(recorded.frontiers.at(stream))
    }

    /// Does what may make streams of the capture wait for each other, by other ways than this account.
    pub(super) fn moves_streams(&self, work: impl FnOnce()) -> Result<(), CaptureError> {
        let begun = |stream: &usize| *stream == 0 || self.lock().model.has_begun(*stream);
        let streams: Vec<usize> = (0..self.streams.len()).filter(begun).collect();
        let before = streams.iter().map(|&stream| self.expect(stream));
        let before = before.collect::<Result<Vec<_>, _>>()?.concat();
        let begun = self.lock().spans.len();
        work();
        let after = self.arrive(&streams)?;
        self.lock().spans.push(Span { begun, before, after, account: Account::Scope });
        Ok(())
    }

    /// These streams stand where they were left just now; the nodes there.
    pub(super) fn arrive(&self, streams: &[usize]) -> Result<Vec<u64>, CaptureError> {
        if self.is_dry() {
            return Ok(Vec::new());
        }
        let mut recorded = self.lock();
        let arrive = |&stream| recorded.frontiers.arrive(&self.streams, stream);
        let nodes = streams.iter().map(arrive).collect::<Result<Vec<_>, _>>()?.concat();
        recorded.meet(&nodes);
        Ok(nodes)
    }

    /// The handles of the nodes that a stream has come to; none in a dry run.
    fn frontier(&self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        if self.is_dry() {
            return Ok(Vec::new());
        }
        let mut recorded = self.lock();
        let nodes = recorded.frontiers.now(&self.streams[stream])?;
        recorded.meet(&nodes);
        Ok(nodes)
    }

    /// Notes that an operation, which came to these nodes, uses memory.
    pub(super) fn used(&self, stream: usize, uses: &[Use<'_>], nodes: &[u64]) {
        let mut recorded = self.lock();
        let operation = recorded.model.operation(stream);
        for one in uses {
            let markers = Markers { operation, nodes: nodes.to_vec() };
            recorded.regions[one.region].used(stream, one.writes, markers);
        }
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
        // What was lent to a guard that was forgotten is used to the end.
        for stream in 0..self.streams.len() {
            if recorded.open[stream].guards > 0 {
                recorded.end_span(stream, nodes.clone());
            }
        }
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
            frontiers: Frontiers::new(streams, None),
            spans: Vec::new(),
            trace: Trace::default(),
            regions: Vec::new(),
            temporaries: 0,
            shares: Shares::default(),
            host: Vec::new(),
            arguments: Vec::new(),
            broken: None,
            met: HashMap::new(),
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

    /// Work that is not noted begins on a stream, which stands at these nodes.
    pub(super) fn open(&mut self, stream: usize, at: &[u64]) {
        let begun = self.spans.len();
        let open = &mut self.open[stream];
        if open.guards == 0 {
            (open.begun, open.before) = (begun, at.to_vec());
        }
        open.guards += 1;
    }

    /// What was done there so far is a span, which ends at these nodes; another one begins.
    fn end_span(&mut self, stream: usize, after: Vec<u64>) {
        let open = &mut self.open[stream];
        let before = std::mem::replace(&mut open.before, after.clone());
        let begun = std::mem::replace(&mut open.begun, self.spans.len() + 1);
        self.spans.push(Span { begun, before, after, account: Account::Scope });
    }

    /// Streams have come to these nodes.
    fn meet(&mut self, nodes: &[u64]) {
        for &node in nodes {
            let met = self.met.len();
            self.met.entry(node).or_insert(met);
        }
    }

    /// How many nodes streams have come to.
    pub(super) fn met(&self) -> usize {
        self.met.len()
    }

    /// Leaves of some nodes those that no stream had come to when so many had been met.
    pub(super) fn keep_newer(&self, nodes: &mut Vec<u64>, met: usize) {
        nodes.retain(|node| self.met.get(node).is_some_and(|&number| number >= met));
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
