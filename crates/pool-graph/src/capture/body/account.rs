//! A body's account, which holds the body's state while the body runs. The body's capture and the
//! pools of the body's scopes [share](super::shared_account) the account.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pool_driver::cudarc::driver::CudaStream;
use pool_driver::host_buffer::HostBuffer;

use super::body_memory::{BodyMemory, LiveCapture};
use super::body_record::BodyRecord;
use super::call_site::CallSite;
use super::memory_use::Use;
use super::region::{ArenaRange, Region};
use super::scope_work::ScopeWork;
use super::span::{NodeOwner, Span};
use super::trace::{BodyStep, Memory, Trace};
use crate::base::block::GraphMemoryBlock;
use crate::base::range::LeasedRange;
use crate::capture::error::CaptureError;
use crate::capture::sharing::Shares;
use crate::driver::KeptValues;

/// The state of a running body.
pub(crate) struct Account {
    /// The session's streams. The capture begins on the first stream, and the other streams are
    /// branches.
    streams: Arc<[Arc<CudaStream>]>,
    pub(super) memory: BodyMemory,
    /// The trace that the body must follow. The trace comes from a dry run or from the graph that
    /// is being updated. `None` if the body does not have to follow a trace.
    planned: Option<Trace>,
    pub(super) record: BodyRecord,
    /// The first `CaptureError` that occurred in one of the body's pools. The pool could not return
    /// this error because pools return only driver errors. `refused_is_reported` is `true` once a
    /// scope has returned this error.
    first_refused: Option<CaptureError>,
    refused_is_reported: bool,
    /// The first error that a failed call could not return to its caller. Either the error occurred
    /// in a destructor, or a pool replaced it with a driver error.
    first_noted: Option<CaptureError>,
    /// For each stream, `true` if one of the body's steps has used it or made it wait for another
    /// stream. A device view might add a stream to the capture before any step uses that stream. A
    /// dry run cannot detect streams that a device view adds to the capture.
    entered: Vec<bool>,
    /// The work that scopes and lent views add to each of the session's streams.
    pub(super) scope_work: Vec<ScopeWork>,
}

impl Account {
    /// Creates the account for a dry run.
    pub(crate) fn dry(streams: &[Arc<CudaStream>], values: Arc<KeptValues>) -> Self {
        Self::new(streams.into(), BodyMemory::DRY, None, None, Shares::default(), values)
    }

    /// Creates the account for a capture. If `planned` contains a trace, the capture must follow
    /// it. For an update, the caller passes the number that the graph's earlier captures used.
    /// Initially, `shares` contains one read of each leased block. The resulting graph shares
    /// ownership of `values`.
    pub(crate) fn live(
        streams: Arc<[Arc<CudaStream>]>,
        live: LiveCapture,
        planned: Option<Trace>,
        number: Option<u64>,
        shares: Shares,
        values: Arc<KeptValues>,
    ) -> Self {
        Self::new(streams, BodyMemory::Live(live), planned, number, shares, values)
    }

    fn new(
        streams: Arc<[Arc<CudaStream>]>,
        memory: BodyMemory,
        planned: Option<Trace>,
        number: Option<u64>,
        shares: Shares,
        values: Arc<KeptValues>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = number.unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
        let count = streams.len();
        let mut record = BodyRecord::new(number, count, shares);
        record.values = Some(values);
        Self {
            streams,
            memory,
            planned,
            record,
            first_refused: None,
            refused_is_reported: false,
            first_noted: None,
            entered: (0..count).map(|stream| stream == 0).collect(),
            scope_work: vec![ScopeWork::default(); count],
        }
    }

    /// Closes the account and returns its memory source and its record. After this call, a value
    /// leaked by the body cannot keep the record or the arena alive.
    pub(super) fn close(&mut self) -> (BodyMemory, BodyRecord) {
        let nothing = BodyRecord::new(self.number(), 0, Shares::default());
        let memory = std::mem::replace(&mut self.memory, BodyMemory::Over);
        (memory, std::mem::replace(&mut self.record, nothing))
    }

    /// Returns the number that identifies the capture.
    pub(super) fn number(&self) -> u64 {
        self.record.capture
    }

    /// Returns `true` if the account belongs to a dry run.
    pub(super) fn is_dry(&self) -> bool {
        matches!(self.memory, BodyMemory::Dry(_))
    }

    /// Returns the values that the body's work depends on, or `None` once the body has ended.
    pub(super) fn values(&self) -> Option<Arc<KeptValues>> {
        self.record.values.clone()
    }

    /// Returns the session's streams.
    pub(super) fn streams(&self) -> &Arc<[Arc<CudaStream>]> {
        &self.streams
    }

    /// Returns the number of steps that the body has performed so far.
    pub(super) fn steps(&self) -> usize {
        self.record.trace.steps()
    }

    /// Returns `true` if the stream already takes part in the capture.
    pub(super) fn has_begun(&self, stream: usize) -> bool {
        self.record.model.has_begun(stream)
    }

    /// Records the error that the capture returned to one of the body's pools. The pool returns a
    /// different error, because it cannot store a `CaptureError`.
    pub(super) fn note_refused(&mut self, error: CaptureError) {
        self.note_error_of_drop(error.clone());
        self.first_refused.get_or_insert(error);
    }

    /// Records an error that a destructor could not return.
    pub(super) fn note_error_of_drop(&mut self, error: CaptureError) {
        self.first_noted.get_or_insert(error);
    }

    /// Returns `true` if the capture has rejected a request from one of the body's pools.
    pub(super) fn has_refused(&self) -> bool {
        self.first_refused.is_some()
    }

    /// Returns the first `CaptureError` that a pool replaced with a driver error, unless a scope
    /// has already returned it.
    pub(super) fn report_refused(&mut self) -> Option<CaptureError> {
        let first = self.first_refused.as_ref().filter(|_| !self.refused_is_reported)?;
        self.refused_is_reported = true;
        Some(first.clone())
    }

    /// Returns the first error that an earlier call could not report, if any.
    pub(super) fn check_noted(&self) -> Result<(), CaptureError> {
        self.first_noted.clone().map_or(Ok(()), Err)
    }

    /// Records the end of a scope or loan in the trace. This method cannot return an error because
    /// a destructor calls it. If the trace no longer matches the plan, either the next step or the
    /// call that ends the capture returns an error.
    pub(super) fn end_step(&mut self, step: &BodyStep) {
        self.record.trace.add(step);
    }

    /// Adds a step to the trace. If the body must follow a plan, the call fails unless the step
    /// matches the planned one.
    pub(super) fn step(&mut self, step: &BodyStep) -> Result<(), CaptureError> {
        let trace = &mut self.record.trace;
        trace.add(step);
        match &self.planned {
            Some(planned) if !trace.begins(planned) => {
                Err(CaptureError::Diverged { step: trace.steps(), planned: planned.steps() })
            }
            _ => Ok(()),
        }
    }

    /// Assigns a number to a host argument. If a body runs again with the same steps, its arguments
    /// receive the same numbers.
    pub(super) fn name_argument(&mut self) -> Result<usize, CaptureError> {
        let number = self.record.arguments.len();
        self.step(&BodyStep::Argument { number })?;
        self.record.arguments.push(None);
        Ok(number)
    }

    /// Adds a host argument's memory to the record. The graph retains this memory even if copying
    /// the argument fails later.
    pub(super) fn keep_argument(&mut self, number: usize, buffer: HostBuffer) {
        if let Some(argument) = self.record.arguments.get_mut(number) {
            *argument = Some(self.record.host.len());
        }
        self.keep_host(buffer);
    }

    /// Adds a host buffer to the record. A copy operation in the graph reads this buffer.
    pub(super) fn keep_host(&mut self, buffer: HostBuffer) {
        self.record.host.push(Some(buffer));
    }

    /// Returns the handles of a stream's last nodes. The list is empty in a dry run. Returns an
    /// error if other code has added nodes to this stream. Nodes from other code cannot be detected
    /// while a scope is open on the stream or a view is lent to it.
    pub(super) fn expect(&mut self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        if self.may_hold_more(stream) {
            return self.frontier(stream);
        }
        let begun = self.has_begun(stream);
        let Some(live) = self.memory.live() else { return Ok(Vec::new()) };
        live.frontiers.check(&self.streams, stream, begun)
    }

    /// Records the current last nodes of the given streams as the end of the capture's own work.
    /// Returns these nodes' handles.
    pub(super) fn arrive(&mut self, streams: &[usize]) -> Result<Vec<u64>, CaptureError> {
        let Some(live) = self.memory.live() else { return Ok(Vec::new()) };
        let arrive = |&stream| live.frontiers.arrive(&self.streams, stream);
        Ok(streams.iter().map(arrive).collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Returns the handles of a stream's current last nodes. The list is empty in a dry run.
    pub(super) fn frontier(&mut self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        match self.memory.live() {
            Some(live) => live.frontiers.now(&self.streams[stream]),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the handles of the last nodes that the capture itself added to the stream. The list
    /// is empty in a dry run.
    pub(super) fn left_at(&mut self, stream: usize) -> Vec<u64> {
        self.memory.live().map_or_else(Vec::new, |live| live.frontiers.at(stream))
    }

    /// Records that nodes are about to be added to a stream. Returns the number of spans completed
    /// so far.
    pub(super) fn begin_move(&mut self, stream: usize) -> usize {
        if let Some(live) = self.memory.live() {
            live.frontiers.leave(stream);
        }
        self.record.spans.len()
    }

    /// Records the end of work that began on a stream after the `before` nodes. This work becomes a
    /// separate span. Returns the stream's last nodes.
    pub(super) fn end_move(
        &mut self,
        stream: usize,
        begun: usize,
        before: &[u64],
        owner: &NodeOwner,
    ) -> Result<Vec<u64>, CaptureError> {
        let after = self.arrive(&[stream])?;
        let (before, owner) = (before.to_vec(), owner.clone());
        self.record.spans.push(Span { begun, before, after: after.clone(), owner });
        Ok(after)
    }

    /// Adds a stream to the capture before the stream's first step. All work on this stream follows
    /// the work that is already on the session's first stream.
    pub(super) fn begin(&mut self, stream: usize) -> Result<(), CaptureError> {
        if !self.entered[stream] {
            self.order(stream, 0)?;
            self.entered[stream] = true;
        }
        Ok(())
    }

    /// Orders a stream after all current work on another stream, unless the two are already
    /// ordered.
    pub(super) fn order(&mut self, later: usize, earlier: usize) -> Result<(), CaptureError> {
        if !self.must_wait(later, earlier) {
            return Ok(());
        }
        if self.memory.live().is_some() {
            self.order_live(later, earlier)?;
        }
        self.record.model.wait(later, earlier);
        Ok(())
    }

    fn order_live(&mut self, later: usize, earlier: usize) -> Result<(), CaptureError> {
        self.fork()?;
        let before = [self.expect(later)?, self.expect(earlier)?].concat();
        let begun = self.begin_move(later);
        let ordered = match self.memory.live() {
            Some(live) => live.event.order(&self.streams[later], &self.streams[earlier]),
            None => Ok(()),
        };
        let ended = self.end_move(later, begun, &before, &NodeOwner::NOTHING);
        ordered.map_err(CaptureError::from).and(ended.map(drop))
    }

    /// Returns `true` if a wait is still needed to order the next operation on `later` after all
    /// operations on `earlier`.
    fn must_wait(&mut self, later: usize, earlier: usize) -> bool {
        if later != earlier && self.may_hold_more(earlier) {
            self.record.model.operation(earlier);
        }
        self.record.model.must_wait(later, earlier)
    }

    /// Records an operation and orders its stream after the streams that previously used the same
    /// memory.
    pub(super) fn prepare_operation(
        &mut self,
        kind: &'static str,
        stream: usize,
        uses: &[Use<'_>],
    ) -> Result<(), CaptureError> {
        if uses.iter().any(|one| one.capture != self.number()) {
            return Err(CaptureError::ForeignView);
        }
        self.check_not_lent(uses)?;
        self.step(&BodyStep::Operation { kind, stream, uses: self.names(uses) })?;
        self.share_written(uses)?;
        self.begin(stream)?;
        for one in uses {
            if self.record.regions[one.region].is_read_only() {
                continue;
            }
            for earlier in self.record.regions[one.region].waited_for(one.writes) {
                self.order(stream, earlier)?;
            }
        }
        Ok(())
    }

    /// Records that an operation uses memory. `nodes` contains the handles of the operation's last
    /// nodes.
    pub(super) fn used(&mut self, stream: usize, uses: &[Use<'_>], nodes: &[u64]) {
        let operation = self.record.model.operation(stream);
        for one in uses {
            self.record.regions[one.region].used(stream, one.writes, operation, nodes);
        }
    }

    /// Returns the name of each memory region that an operation uses, along with a flag that is
    /// `true` if the operation writes to it.
    pub(super) fn names(&self, uses: &[Use<'_>]) -> Vec<(Memory, bool)> {
        uses.iter().map(|one| (self.record.regions[one.region].name, one.writes)).collect()
    }

    /// Records the blocks to which the graph writes so that graphs on other streams cannot use
    /// them. At this point, a read of each leased block has already been recorded.
    fn share_written(&mut self, uses: &[Use<'_>]) -> Result<(), CaptureError> {
        if self.is_dry() {
            return Ok(());
        }
        let BodyRecord { regions, shares, .. } = &mut self.record;
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
        let regions = uses.iter().map(|one| &self.record.regions[one.region]);
        let lent = regions.into_iter().find(|region| region.lent);
        lent.map_or(Ok(()), |region| Err(CaptureError::Lent { address: region.address }))
    }

    /// Returns a region's address.
    pub(super) fn address(&self, region: usize) -> u64 {
        self.record.regions[region].address
    }

    /// Returns the index of the region for a block that the graph retains. If the block has no
    /// region yet, the method adds one.
    pub(super) fn region_of_block(&mut self, block: &GraphMemoryBlock) -> usize {
        let regions = &mut self.record.regions;
        let same = |region: &Region| region.name == Memory::Block(block.id());
        if let Some(region) = regions.iter().position(same) {
            return region;
        }
        regions.push(Region::block(block));
        regions.len() - 1
    }

    /// Returns the index of the region for memory that the session owns. `place` is the index of
    /// this memory in the session's list of owned memory.
    pub(super) fn region_of_owned(
        &mut self,
        place: usize,
        range: LeasedRange,
        is_written: bool,
    ) -> usize {
        let regions = &mut self.record.regions;
        let same = |region: &Region| region.name == Memory::Owned(place);
        if let Some(region) = regions.iter().position(same) {
            return region;
        }
        regions.push(Region::owned(place, range, is_written));
        regions.len() - 1
    }

    /// Allocates memory for a view on a stream that is part of the capture. Returns the new
    /// region's index.
    pub(super) fn acquire(
        &mut self,
        stream: usize,
        bytes: u64,
        site: CallSite,
    ) -> Result<usize, CaptureError> {
        self.step(&BodyStep::Acquire { stream, bytes })?;
        let region = self.take_region(stream, bytes)?;
        self.record.regions[region].site = site;
        Ok(region)
    }

    /// Allocates a block for a scope's pool. The block remains in use until the capture ends.
    /// Returns the block's address.
    pub(super) fn acquire_block(&mut self, stream: usize, bytes: u64) -> Result<u64, CaptureError> {
        let site = self.scope_work[stream].site;
        let region = self.acquire_kept(stream, bytes, site)?;
        Ok(self.address(region))
    }

    /// Allocates memory that stays in use until the capture ends. Returns the new region's index.
    pub(super) fn acquire_kept(
        &mut self,
        stream: usize,
        bytes: u64,
        site: CallSite,
    ) -> Result<usize, CaptureError> {
        self.step(&BodyStep::Block { stream, bytes })?;
        let region = self.take_region(stream, bytes)?;
        let kept = &mut self.record.regions[region];
        (kept.kept, kept.site) = (true, site);
        Ok(region)
    }

    fn take_region(&mut self, stream: usize, bytes: u64) -> Result<usize, CaptureError> {
        let after = self.expect(stream)?;
        let (address, offset) = self.memory.take(bytes)?;
        let taken_by = self.record.model.operation(stream);
        let place = ArenaRange { address, bytes, offset };
        let region = Region::temporary(self.record.name_temporary(), stream, place, after);
        self.record.regions.push(Region { taken_by, ..region });
        Ok(self.record.regions.len() - 1)
    }

    /// Records that a region's view has been dropped. A linear arena may reuse the region's bytes
    /// after this call.
    pub(super) fn release(&mut self, region: usize) {
        let Some(region) = self.record.regions.get(region) else { return };
        // If a loan's guard was passed to `mem::forget`, the view is still lent and its region
        // stays allocated.
        if let (Some(live), true, false) = (self.memory.live(), region.is_temporary(), region.lent)
        {
            let _ended = live.arena.deallocate(region.address);
        }
    }

    /// Records that the capture forks. Returns an error if the arena's policy does not support
    /// forks.
    pub(super) fn fork(&mut self) -> Result<(), CaptureError> {
        self.memory.live().map_or(Ok(()), |live| Ok(live.arena.forked()?))
    }
}
