//! A body's account and what it takes its memory from: the capture and the pools of its scopes have them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pool_cuda::cudarc::driver::CudaStream;

use super::memory_use::Use;
use super::recorded::Recorded;
use super::region::{ArenaRange, Markers, Region};
use super::span::{NodeOwner, Span};
use super::trace::{BodyStep, Trace};
use crate::arena::CudaArena;
use crate::capture::error::CaptureError;
use crate::driver::{CaptureObserver, HostBuffer};

/// What a pool would be told that asks for memory when its capture is over.
const OVER: CaptureError =
    CaptureError::Internal { found: "a pool that has outlived its capture asked for memory" };

/// A body's account, and its source of memory.
pub(crate) struct Record {
    id: u64,
    streams: Vec<Arc<CudaStream>>,
    is_dry: bool,
    /// None in a dry run, and once the capture is over: pools that were forgotten keep no memory.
    arena: Mutex<Option<CudaArena>>,
    /// The trace to follow.
    planned: Option<Trace>,
    recorded: Mutex<Recorded>,
}

impl Record {
    pub(crate) fn new(
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

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The driver's capture has begun.
    pub(crate) fn begun(&self, onlooker: CaptureObserver) {
        self.lock().begun(self.streams.len(), onlooker);
    }

    pub(crate) fn is_dry(&self) -> bool {
        self.is_dry
    }

    pub(crate) fn streams(&self) -> &[Arc<CudaStream>] {
        &self.streams
    }

    /// What the body did so far. Never held while code of the body, or a drop, may run.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock()
    }

    /// The account is closed.
    pub(crate) fn finish(&self) -> Recorded {
        let arena = self.arena.lock().take();
        drop(arena);
        std::mem::replace(&mut *self.lock(), Recorded::new(self.id, 0))
    }

    /// Notes a step, which must be that of the plan, if there is one.
    pub(crate) fn step(&self, step: &BodyStep) -> Result<(), CaptureError> {
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
    pub(crate) fn name_argument(&self) -> Result<usize, CaptureError> {
        let number = self.lock().arguments.len();
        self.step(&BodyStep::Argument { number })?;
        self.lock().arguments.push(None);
        Ok(number)
    }

    /// The memory of a host argument, kept whatever becomes of its copy.
    pub(crate) fn keep_argument(&self, number: usize, buffer: HostBuffer) {
        let Recorded { host, arguments, .. } = &mut *self.lock();
        if let Some(argument) = arguments.get_mut(number) {
            *argument = Some(host.len());
        }
        host.push(Some(buffer));
    }

    /// The handles of the nodes that a stream has come to by this capture's work, and by nobody else's;
    /// none in a dry run. While a scope is open there, or a view is lent, their work is not told apart.
    pub(crate) fn expect(&self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        if self.is_dry() {
            return Ok(Vec::new());
        }
        let mut recorded = self.lock();
        if recorded.may_hold_more(stream) {
            drop(recorded);
            return self.frontier(stream);
        }
        let begun = recorded.model.has_begun(stream);
        let nodes = recorded.frontiers()?.check(&self.streams, stream, begun)?;
        recorded.meet(&nodes);
        Ok(nodes)
    }

    /// Work of a scope, or with a lent view, is over: the streams stand where it left them. The handles of
    /// the nodes that this one has come to.
    pub(crate) fn close(&self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        let moved = self.lock().close(stream);
        let after = self.arrive(&moved)?;
        let mut recorded = self.lock();
        recorded.end_span(stream, after);
        for &other in moved.iter().filter(|&&other| other != stream) {
            let nodes = recorded.left_at(other);
            recorded.were_given(stream, &nodes);
        }
        Ok(recorded.left_at(stream))
    }

    /// Does what may make streams of the capture wait for each other, by other ways than this account.
    pub(crate) fn moves_streams(&self, work: impl FnOnce()) -> Result<(), CaptureError> {
        let begun = |stream: &usize| *stream == 0 || self.lock().model.has_begun(*stream);
        let streams: Vec<usize> = (0..self.streams.len()).filter(begun).collect();
        let before = streams.iter().map(|&stream| self.expect(stream));
        let before = before.collect::<Result<Vec<_>, _>>()?.concat();
        let begun = self.lock().spans.len();
        work();
        let after = self.arrive(&streams)?;
        self.lock().spans.push(Span { begun, before, after, account: NodeOwner::Scope });
        Ok(())
    }

    /// These streams stand where they were left just now; the nodes there.
    pub(crate) fn arrive(&self, streams: &[usize]) -> Result<Vec<u64>, CaptureError> {
        if self.is_dry() {
            return Ok(Vec::new());
        }
        let mut recorded = self.lock();
        let frontiers = recorded.frontiers()?;
        let arrive = |&stream| frontiers.arrive(&self.streams, stream);
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
        let nodes = recorded.frontiers()?.now(&self.streams[stream])?;
        recorded.meet(&nodes);
        Ok(nodes)
    }

    /// Notes that an operation, which came to these nodes, uses memory.
    pub(crate) fn used(&self, stream: usize, uses: &[Use<'_>], nodes: &[u64]) {
        let mut recorded = self.lock();
        let operation = recorded.model.operation(stream);
        for one in uses {
            let markers = Markers { operation, nodes: nodes.to_vec() };
            recorded.regions[one.region].used(stream, one.writes, markers);
        }
    }

    /// Takes bytes of a view for a stream that has begun; the number of their region.
    pub(crate) fn acquire(&self, stream: usize, bytes: u64) -> Result<usize, CaptureError> {
        self.step(&BodyStep::Acquire { stream, bytes })?;
        self.take_region(stream, bytes, false)
    }

    /// Takes bytes of a scope's pool, which are in use until the capture ends; the number of their region.
    pub(crate) fn acquire_block(&self, stream: usize, bytes: u64) -> Result<usize, CaptureError> {
        self.step(&BodyStep::Block { stream, bytes })?;
        self.take_region(stream, bytes, true)
    }

    fn take_region(&self, stream: usize, bytes: u64, kept: bool) -> Result<usize, CaptureError> {
        let after = self.expect(stream)?;
        let since = self.meet_all()?;
        let (address, offset) = self.take(bytes)?;
        let mut recorded = self.lock();
        let taken_by = recorded.model.operation(stream);
        let place = ArenaRange { address, bytes, offset };
        let region = Region::temporary(recorded.name_temporary(), stream, place, after);
        recorded.regions.push(Region { taken_by, since, kept, ..region });
        Ok(recorded.regions.len() - 1)
    }

    /// Meets what was put on streams without being noted; how many nodes have been met then.
    pub(crate) fn meet_all(&self) -> Result<usize, CaptureError> {
        for stream in 0..self.streams.len() {
            let may_hold_more = self.lock().may_hold_more(stream);
            if may_hold_more {
                self.frontier(stream)?;
            }
        }
        Ok(self.lock().met())
    }

    /// The address of new bytes, and where they lie in the arena.
    fn take(&self, bytes: u64) -> Result<(u64, u64), CaptureError> {
        if !self.is_dry {
            let arena = self.arena.lock();
            let region = arena.as_ref().ok_or(OVER)?.allocate(bytes)?;
            return Ok((region.device_pointer(), region.offset()));
        }
        self.lock().take_dry(bytes)
    }

    /// A region is not used by its view any more: an arena that rewinds may have its bytes.
    pub(crate) fn release(&self, region: usize) {
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
    pub(crate) fn fork(&self) -> Result<(), CaptureError> {
        self.arena.lock().as_ref().map_or(Ok(()), |arena| Ok(arena.forked()?))
    }

    /// Another stream of the session is about to come after this one, to use memory of its scopes.
    pub(crate) fn admit(&self, stream: usize, other: usize) -> Result<(), CaptureError> {
        if stream == other {
            return Ok(());
        }
        self.fork()?;
        self.expect(other)?;
        let mut recorded = self.lock();
        recorded.model.operation(stream);
        recorded.model.is_to_wait(other, stream);
        recorded.touch(stream, other);
        Ok(())
    }

    /// The handles of the nodes that each stream has come to; none for one that takes no part.
    pub(crate) fn ends(&self) -> Result<Vec<Vec<u64>>, CaptureError> {
        let end = |stream| match stream == 0 || self.lock().model.has_begun(stream) {
            true => self.frontier(stream),
            false => Ok(Vec::new()),
        };
        (0..self.streams.len()).map(end).collect()
    }

    /// What is kept is used until the end: by the last operation, which comes after all others. In the graph its
    /// last uses are at the ends of the streams that have it.
    pub(crate) fn keep_to_the_end(&self, ends: &[Vec<u64>]) -> Result<(), CaptureError> {
        let nodes = self.frontier(0)?;
        let mut recorded = self.lock();
        // What was lent to a guard that was forgotten is used to the end.
        for stream in 0..self.streams.len() {
            if recorded.is_open(stream) {
                recorded.end_span(stream, nodes.clone());
            }
        }
        let stays = |region: &Region| region.is_temporary() && (region.kept || region.lent);
        if !recorded.regions.iter().any(stays) {
            return Ok(());
        }
        let operation = recorded.model.operation(0);
        let last: Vec<Vec<u64>> =
            (0..ends.len()).map(|stream| recorded.end_of_what_is_on(stream, ends)).collect();
        for place in 0..recorded.regions.len() {
            let region = &recorded.regions[place];
            if stays(region) {
                let mut nodes = last[region.writer].clone();
                recorded.keep_newer(&mut nodes, region.since);
                recorded.regions[place].used(0, true, Markers { operation, nodes });
            }
        }
        Ok(())
    }
}
