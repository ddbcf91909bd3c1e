//! The scope of a body: it takes memory, puts work on the session's streams, and sees to it that what
//! uses the same memory is ordered.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use pool_cuda::cudarc::driver::CudaStream;

use super::memory_use::Use;
use super::names::CaptureStream;
use super::pools::Pools;
use super::record::Record;
use super::recorded::Recorded;
use super::span::{NodeOwner, Span};
use super::trace::{BodyStep, Memory, Trace};
use crate::arena::CudaArena;
use crate::capture::error::CaptureError;
use crate::driver::OrderEvent;
use crate::lease::Lease;

/// The body's side of a capture, or of a dry run: acquires come from the arena, and operations go to
/// the streams of the session.
///
/// What uses the same memory on several streams is ordered by the capture: a stream waits for the last
/// writer before it reads, and for readers, too, before it writes. Streams that use nothing in common
/// stay apart, unless [`wait`](Self::wait) says otherwise.
pub struct Capture<'c> {
    pub(super) streams: &'c [Arc<CudaStream>],
    pub(super) leases: &'c [Lease],
    /// None in a dry run.
    live: Option<Live<'c>>,
    pub(crate) record: Arc<Record>,
    /// Those of scopes.
    pub(crate) pools: RefCell<Pools>,
}

/// An operation of a body.
pub(crate) struct Operation<'o> {
    pub(crate) kind: &'static str,
    pub(crate) stream: CaptureStream,
    pub(crate) uses: &'o [Use<'o>],
    /// Who answers for what it puts on the stream.
    pub(crate) account: NodeOwner,
}

/// A stream was moved on, or was to be.
struct StreamMove {
    worked: Result<(), CaptureError>,
    /// Where it stands.
    after: Result<Vec<u64>, CaptureError>,
}

/// What a capture has and a dry run has not.
pub(crate) struct Live<'c> {
    pub(crate) arena: &'c CudaArena,
    pub(crate) event: &'c OrderEvent,
}

impl<'c> Capture<'c> {
    pub(crate) fn new(
        streams: &'c [Arc<CudaStream>],
        leases: &'c [Lease],
        live: Option<Live<'c>>,
        planned: Option<&'c Trace>,
        id: Option<u64>,
    ) -> Self {
        let record = Record::new(streams, live.as_ref().map(|live| live.arena), planned, id);
        let pools = RefCell::new(Pools::new(streams.len()));
        Self { streams, leases, live, record: Arc::new(record), pools }
    }

    pub(crate) fn into_recorded(self) -> Recorded {
        self.finish()
    }

    /// Ends the pools, then the account, of which nothing is left to whoever was forgotten with a part in it.
    fn finish(&self) -> Recorded {
        let pools = self.pools.replace(Pools::new(0));
        drop(pools);
        self.record.finish()
    }

    pub(crate) fn id(&self) -> u64 {
        self.record.id()
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

    /// Makes a stream come after all that another one holds now.
    ///
    /// # Errors
    ///
    /// What the driver refuses, and where the arena allows one stream alone.
    pub fn wait(&self, later: CaptureStream, earlier: CaptureStream) -> Result<(), CaptureError> {
        let (later, earlier) = (self.check(later)?, self.check(earlier)?);
        self.record.step(&BodyStep::Wait { later, earlier })?;
        self.begin(later)?;
        self.order(later, earlier)
    }

    /// Notes an operation, orders its stream after who used the same memory, and puts it there.
    pub(crate) fn operation(
        &self,
        operation: &Operation<'_>,
        work: impl FnOnce(&Arc<CudaStream>) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        let &Operation { kind, stream, uses, ref account } = operation;
        let stream = self.check(stream)?;
        if uses.iter().any(|one| one.capture != self.id()) {
            return Err(CaptureError::ForeignView);
        }
        self.check_not_lent(uses)?;
        self.record.step(&BodyStep::Operation { kind, stream, uses: self.names(uses) })?;
        self.share(uses)?;
        self.begin(stream)?;
        for one in uses {
            let before = self.record.lock().regions[one.region].waited_for(one.writes);
            for earlier in before {
                self.order(stream, earlier)?;
            }
        }
        let before = self.record.expect(stream)?;
        let mut worked = Ok(());
        let mut nodes = Vec::new();
        if !self.is_dry() {
            let work = || work(&self.streams[stream]);
            let moved = self.move_stream(stream, &before, account, work);
            // What failed halfway has put something on the stream by then, and that uses the memory.
            (worked, nodes) = (moved.worked, moved.after?);
            nodes.retain(|node| !before.contains(node));
        }
        self.record.used(stream, uses, &nodes);
        worked
    }

    /// Does what moves a stream on from where it stands, as a span of its own; where it stands then.
    fn move_stream(
        &self,
        stream: usize,
        before: &[u64],
        account: &NodeOwner,
        work: impl FnOnce() -> Result<(), CaptureError>,
    ) -> StreamMove {
        let begun = {
            let mut recorded = self.record.lock();
            recorded.leave(stream);
            recorded.spans.len()
        };
        let worked = work();
        let after = self.record.arrive(&[stream]);
        if let Ok(after) = &after {
            let (before, after, account) = (before.to_vec(), after.clone(), account.clone());
            self.record.lock().spans.push(Span { begun, before, after, account });
        }
        StreamMove { worked, after }
    }

    /// The pools go, while what they may still put on the streams is captured.
    pub(crate) fn end_scopes(&self) -> Result<(), CaptureError> {
        let scopes = std::mem::take(&mut self.pools.borrow_mut().scopes);
        self.record.moves_streams(|| drop(scopes))?;
        self.check_unbroken()
    }

    pub(super) fn check_unbroken(&self) -> Result<(), CaptureError> {
        let broken = self.record.lock().broken.clone();
        broken.map_or(Ok(()), Err)
    }

    /// Joins every branch: a graph ends in one stream. Nobody else has put anything on any of them.
    pub(crate) fn join_all(&self) -> Result<(), CaptureError> {
        self.end_scopes()?;
        // Behind the joins the first stream comes after branches that have no part in what it keeps.
        let ends = self.record.ends()?;
        for branch in 1..self.streams.len() {
            let begun = self.record.lock().model.has_begun(branch);
            if begun {
                self.order(0, branch)?;
            }
        }
        (0..self.streams.len()).try_for_each(|stream| self.record.expect(stream).map(drop))?;
        self.record.keep_to_the_end(&ends)
    }

    /// Takes a stream into the capture: it comes after what the session's stream holds.
    pub(crate) fn begin(&self, stream: usize) -> Result<(), CaptureError> {
        let begun = self.record.lock().model.has_begun(stream);
        if begun { Ok(()) } else { self.order(stream, 0) }
    }

    fn order(&self, later: usize, earlier: usize) -> Result<(), CaptureError> {
        if !self.record.lock().must_wait(later, earlier) {
            return Ok(());
        }
        if let Some(live) = &self.live {
            self.record.fork()?;
            let stood = self.record.expect(later)?;
            let before = [&stood[..], &self.record.expect(earlier)?].concat();
            let order = || Ok(live.event.order(&self.streams[later], &self.streams[earlier])?);
            let moved = self.move_stream(later, &before, &NodeOwner::NOTHING, order);
            moved.worked?;
            self.record.lock().came_behind(later, &stood, &moved.after?);
        }
        self.record.lock().model.wait(later, earlier);
        Ok(())
    }

    fn names(&self, uses: &[Use<'_>]) -> Vec<(Memory, bool)> {
        let recorded = self.record.lock();
        uses.iter().map(|one| (recorded.regions[one.region].name, one.writes)).collect()
    }

    /// Blocks that are written from here on: by no graph of another stream, then. All that are leased count
    /// as read.
    fn share(&self, uses: &[Use<'_>]) -> Result<(), CaptureError> {
        if self.is_dry() {
            return Ok(());
        }
        let Recorded { regions, shares, .. } = &mut *self.record.lock();
        for one in uses.iter().filter(|one| one.writes) {
            let region = &mut regions[one.region];
            if let (Memory::Block(block), false) = (region.name, region.written) {
                shares.add(block, &self.streams[0], true)?;
                region.written = true;
            }
        }
        Ok(())
    }

    fn check_not_lent(&self, uses: &[Use<'_>]) -> Result<(), CaptureError> {
        let recorded = self.record.lock();
        let lent = uses.iter().map(|one| &recorded.regions[one.region]).find(|region| region.lent);
        lent.map_or(Ok(()), |region| Err(CaptureError::Lent { address: region.address }))
    }

    pub(crate) fn check(&self, stream: CaptureStream) -> Result<usize, CaptureError> {
        let branches = self.streams.len() - 1;
        match stream.0 {
            known if known <= branches => Ok(known),
            other => Err(CaptureError::NoSuchBranch { asked: other - 1, branches }),
        }
    }

    pub(crate) fn address(&self, region: usize) -> u64 {
        self.record.lock().regions[region].address
    }
}

/// The body failed, or unwound.
impl Drop for Capture<'_> {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

impl fmt::Debug for Capture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.record.lock().trace.steps();
        f.debug_struct("Capture")
            .field("dry", &self.is_dry())
            .field("streams", &self.streams.len())
            .field("steps", &steps)
            .finish_non_exhaustive()
    }
}
