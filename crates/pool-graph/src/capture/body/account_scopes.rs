//! The account methods that record scopes and lent views. The capture cannot observe a scope's
//! individual operations. The capture therefore records the scope's work as a whole when the scope
//! ends.

use super::account::Account;
use super::call_site::CallSite;
use super::memory_use::Use;
use super::region::Region;
use super::scope_work::ScopeWork;
use super::span::{NodeOwner, Span};
use super::trace::BodyStep;
use crate::capture::error::CaptureError;

/// The streams to which nodes may be added while the body's pools are being dropped.
pub(super) struct PoolsEnd {
    streams: Vec<usize>,
    begun: usize,
    before: Vec<u64>,
}

impl Account {
    /// Opens a scope on a stream. Returns an error if a scope is already open on this stream.
    pub(super) fn open_scope(&mut self, stream: usize, site: CallSite) -> Result<(), CaptureError> {
        self.begin(stream)?;
        let at = self.expect(stream)?;
        if std::mem::replace(&mut self.scope_work[stream].scope, true) {
            return Err(CaptureError::ScopeOpen { stream });
        }
        self.scope_work[stream].site = site;
        self.open_work(stream, &at);
        Ok(())
    }

    /// Closes the scope that is open on the stream.
    pub(super) fn close_scope(&mut self, stream: usize) {
        self.end_step(&BodyStep::Scope { stream, opens: false });
        let closed = self.close_work(stream);
        self.scope_work[stream].scope = false;
        if let Err(error) = closed {
            self.note_error_of_drop(error);
        }
    }

    /// Lends a region to a device view on this stream.
    pub(super) fn lend(&mut self, stream: usize, region: usize) -> Result<(), CaptureError> {
        let at = self.expect(stream)?;
        let region = &mut self.record.regions[region];
        region.lent = !region.is_read_only();
        self.open_work(stream, &at);
        Ok(())
    }

    /// Ends a region's loan on a stream. The stream already waits for all other streams that used
    /// the view, so all of its uses precede the stream's last nodes.
    pub(super) fn end_loan(&mut self, stream: usize, of: Use<'_>) {
        let uses = self.names(&[of]);
        self.end_step(&BodyStep::Operation { kind: "return", stream, uses });
        let closed = self.close_work(stream);
        let nodes = self.left_at(stream);
        let operation = self.record.model.operation(stream);
        let region = &mut self.record.regions[of.region];
        region.lent = false;
        if !region.is_read_only() {
            region.ended(stream, operation, &nodes);
        }
        if let Err(error) = closed {
            self.note_error_of_drop(error);
        }
    }

    /// Records the beginning of work whose individual steps the capture cannot observe. `at`
    /// contains the handles of the stream's last nodes.
    fn open_work(&mut self, stream: usize, at: &[u64]) {
        let begun = self.record.spans.len();
        let work = &mut self.scope_work[stream];
        if work.guards == 0 {
            (work.begun, work.before) = (begun, at.to_vec());
        }
        work.guards += 1;
    }

    /// Records the end of a scope's or lent view's work, and the last nodes of all streams that the
    /// work used.
    fn close_work(&mut self, stream: usize) -> Result<(), CaptureError> {
        let moved = self.note_work(stream);
        let after = self.arrive(&moved)?;
        self.end_span(stream, after);
        Ok(())
    }

    /// Records the completed work of a scope or a lent view as a single operation on each stream
    /// that the work used. The scope's stream already waits for the other streams. Returns all of
    /// these streams.
    fn note_work(&mut self, stream: usize) -> Vec<usize> {
        let work = &mut self.scope_work[stream];
        let model = &mut self.record.model;
        for &other in &work.touched {
            model.operation(other);
        }
        model.operation(stream);
        let moved = work.touched.iter().copied().chain([stream]).collect();
        work.guards = work.guards.saturating_sub(1);
        if work.guards == 0 {
            work.touched.clear();
        }
        moved
    }

    /// Ends the current span of a stream's work at the `after` nodes, and begins the next one
    /// there.
    fn end_span(&mut self, stream: usize, after: Vec<u64>) {
        let work = &mut self.scope_work[stream];
        let before = std::mem::replace(&mut work.before, after.clone());
        let begun = std::mem::replace(&mut work.begun, self.record.spans.len() + 1);
        self.record.spans.push(Span { begun, before, after, owner: NodeOwner::Scope });
    }

    /// Returns `true` if the stream might contain work that the account has not recorded.
    pub(super) fn may_hold_more(&self, stream: usize) -> bool {
        let touches = |work: &ScopeWork| work.guards > 0 && work.touched.contains(&stream);
        self.is_open(stream) || self.scope_work.iter().any(touches)
    }

    /// Returns `true` if a scope is open on the stream, or if a view is lent to the stream.
    fn is_open(&self, stream: usize) -> bool {
        self.scope_work[stream].guards > 0
    }

    /// Permits `other` to wait for `stream` so that work on `other` can use memory from scopes on
    /// `stream`.
    pub(super) fn admit(&mut self, stream: usize, other: usize) -> Result<(), CaptureError> {
        if stream == other {
            return Ok(());
        }
        self.fork()?;
        self.expect(other)?;
        self.record.model.operation(stream);
        self.record.model.is_to_wait(other, stream);
        let touched = &mut self.scope_work[stream].touched;
        if !touched.contains(&other) {
            touched.push(other);
        }
        Ok(())
    }

    /// Returns the streams to which nodes may be added while the scopes' pools are being dropped.
    /// While a pool is being dropped, it might make one stream wait for another without notifying
    /// this account.
    pub(super) fn begin_pools_end(&mut self) -> Result<PoolsEnd, CaptureError> {
        let takes_part = |&stream: &usize| stream == 0 || self.has_begun(stream);
        let streams: Vec<usize> = (0..self.scope_work.len()).filter(takes_part).collect();
        let before = streams.iter().map(|&stream| self.expect(stream));
        let before = before.collect::<Result<Vec<_>, _>>()?.concat();
        Ok(PoolsEnd { streams, begun: self.record.spans.len(), before })
    }

    /// Records that the scopes' pools have been dropped.
    pub(super) fn finish_pools_end(&mut self, end: PoolsEnd) -> Result<(), CaptureError> {
        let PoolsEnd { streams, begun, before } = end;
        let after = self.arrive(&streams)?;
        self.record.spans.push(Span { begun, before, after, owner: NodeOwner::Scope });
        Ok(())
    }

    /// Joins every branch back into the first stream, because a capture must end on a single
    /// stream. Returns an error if a stream contains work that the capture did not add.
    pub(super) fn join_all(&mut self) -> Result<(), CaptureError> {
        let streams = self.scope_work.len();
        for branch in 1..streams {
            if self.has_begun(branch) {
                self.order(0, branch)?;
            }
        }
        (0..streams).try_for_each(|stream| self.expect(stream).map(drop))?;
        self.keep_to_the_end()
    }

    /// Records that all retained regions stay in use for the graph's lifetime. Regions whose loans
    /// were passed to `mem::forget` also stay in use.
    fn keep_to_the_end(&mut self) -> Result<(), CaptureError> {
        let nodes = self.frontier(0)?;
        for stream in 0..self.scope_work.len() {
            if self.is_open(stream) {
                self.end_span(stream, nodes.clone());
            }
        }
        let is_noted = |region: &Region| region.is_temporary() || region.use_groups().is_some();
        let stays = |region: &&mut Region| region.kept || (region.lent && is_noted(region));
        let mut staying = self.record.regions.iter_mut().filter(stays).peekable();
        if staying.peek().is_some() {
            let operation = self.record.model.operation(0);
            staying.for_each(|region| region.ended(0, operation, &nodes));
        }
        Ok(())
    }
}
