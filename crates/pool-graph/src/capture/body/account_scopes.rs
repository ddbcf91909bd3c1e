//! Work of scopes and lent views in an account: nothing tells of each of their operations, so it is noted as a whole
//! when it is over.

use super::account::Account;
use super::call_site::CallSite;
use super::memory_use::Use;
use super::region::{Markers, Region};
use super::scope_work::ScopeWork;
use super::span::{NodeOwner, Span};
use super::trace::BodyStep;
use crate::capture::error::CaptureError;

/// What is to be moved by the end of the pools of a body.
pub(super) struct PoolsEnd {
    streams: Vec<usize>,
    begun: usize,
    before: Vec<u64>,
}

impl Account {
    /// Opens the one scope of a stream.
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

    /// Closes the scope of a stream. Its errors are answered by whoever asks next.
    pub(super) fn close_scope(&mut self, stream: usize) {
        let noted = self.step(&BodyStep::Scope { stream, opens: false });
        let closed = self.close_work(stream);
        self.scope_work[stream].scope = false;
        if let Err(error) = noted.and(closed.map(drop)) {
            self.note_unanswered(error);
        }
    }

    /// Lends a region to a device view on a stream; how many nodes had been met before.
    pub(super) fn lend(&mut self, stream: usize, region: usize) -> Result<usize, CaptureError> {
        let at = self.expect(stream)?;
        let since = self.meet_all()?;
        let region = &mut self.record.regions[region];
        (region.lent, region.since) = (true, since);
        self.open_work(stream, &at);
        Ok(since)
    }

    /// Takes a region back that was lent on a stream. What came onto the stream meanwhile, and onto those that have
    /// come together with it, are the region's nodes.
    pub(super) fn end_loan(
        &mut self,
        stream: usize,
        of: Use<'_>,
        since: usize,
    ) -> Result<(), CaptureError> {
        let closed = self.close_work(stream);
        self.record.regions[of.region].lent = false;
        let nodes = closed.as_ref().cloned().unwrap_or_default();
        let mut nodes = self.own_of(stream, &nodes);
        self.keep_newer(&mut nodes, since);
        let uses = self.names(&[of]);
        let noted = self.step(&BodyStep::Operation { kind: "return", stream, uses });
        self.used(stream, &[of], &nodes);
        closed.and(noted)
    }

    /// Begins work that is not noted on a stream, which stands at these nodes.
    fn open_work(&mut self, stream: usize, at: &[u64]) {
        let begun = self.record.spans.len();
        let work = &mut self.scope_work[stream];
        if work.guards == 0 {
            (work.begun, work.before) = (begun, at.to_vec());
        }
        work.guards += 1;
    }

    /// Ends work of a scope, or with a lent view: the streams stand where it left them. The handles of
    /// the nodes that this stream has come to.
    fn close_work(&mut self, stream: usize) -> Result<Vec<u64>, CaptureError> {
        let moved = self.note_work(stream);
        let after = self.arrive(&moved)?;
        self.end_span(stream, after);
        for &other in moved.iter().filter(|&&other| other != stream) {
            let nodes = self.left_at(other);
            self.were_given(stream, &nodes);
        }
        Ok(self.left_at(stream))
    }

    /// Notes work that is over, after which the stream has come behind what others did of it: as one operation of
    /// each stream that did any. Which streams those are.
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

    /// Ends the span of what was done on a stream so far, at these nodes; another span begins.
    fn end_span(&mut self, stream: usize, after: Vec<u64>) {
        let work = &mut self.scope_work[stream];
        let before = std::mem::replace(&mut work.before, after.clone());
        let begun = std::mem::replace(&mut work.begun, self.record.spans.len() + 1);
        self.record.spans.push(Span { begun, before, after, owner: NodeOwner::Scope });
    }

    /// Whether a stream may hold work that was not noted.
    pub(super) fn may_hold_more(&self, stream: usize) -> bool {
        let touches = |work: &ScopeWork| work.guards > 0 && work.touched.contains(&stream);
        self.is_open(stream) || self.scope_work.iter().any(touches)
    }

    /// Whether a scope is open on a stream, or a view lent.
    fn is_open(&self, stream: usize) -> bool {
        self.scope_work[stream].guards > 0
    }

    /// Meets what was put on streams without being noted; how many nodes have been met then.
    pub(super) fn meet_all(&mut self) -> Result<usize, CaptureError> {
        for stream in 0..self.scope_work.len() {
            if self.may_hold_more(stream) {
                self.frontier(stream)?;
            }
        }
        Ok(self.met.len())
    }

    /// Leaves of some nodes those that no stream had come to when so many had been met.
    fn keep_newer(&self, nodes: &mut Vec<u64>, met: usize) {
        nodes.retain(|node| self.met.get(node).is_some_and(|&number| number >= met));
    }

    /// Lets another stream of the session come after this one, to use memory of its scopes.
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

    /// Notes that a stream which stood at some nodes was made to come behind others, and stands at these now: what
    /// was brought is no use of what is kept or lent there, as long as its own nodes tell where that ends.
    pub(super) fn came_behind(&mut self, stream: usize, stood: &[u64], now: &[u64]) {
        if stood.iter().all(|node| now.contains(node)) {
            self.brought[stream].extend(now.iter().filter(|node| !stood.contains(node)));
        }
    }

    /// Of the nodes that a stream stands at those that no wait of the capture brought there.
    fn own_of(&self, stream: usize, nodes: &[u64]) -> Vec<u64> {
        let brought = &self.brought[stream];
        nodes.iter().copied().filter(|node| !brought.contains(node)).collect()
    }

    /// Notes that the nodes at which other streams stand are uses of what is open on a stream.
    fn were_given(&mut self, stream: usize, nodes: &[u64]) {
        for node in nodes {
            self.brought[stream].remove(node);
        }
    }

    /// Says what the pools of scopes may move when they go: they may make streams wait for each other, by other ways
    /// than this account.
    pub(super) fn begin_pools_end(&mut self) -> Result<PoolsEnd, CaptureError> {
        let takes_part = |&stream: &usize| stream == 0 || self.has_begun(stream);
        let streams: Vec<usize> = (0..self.scope_work.len()).filter(takes_part).collect();
        let before = streams.iter().map(|&stream| self.expect(stream));
        let before = before.collect::<Result<Vec<_>, _>>()?.concat();
        Ok(PoolsEnd { streams, begun: self.record.spans.len(), before })
    }

    /// Notes that the pools of scopes are gone.
    pub(super) fn finish_pools_end(&mut self, end: PoolsEnd) -> Result<(), CaptureError> {
        let PoolsEnd { streams, begun, before } = end;
        let after = self.arrive(&streams)?;
        self.record.spans.push(Span { begun, before, after, owner: NodeOwner::Scope });
        Ok(())
    }

    /// Joins every branch, of which nobody else has put anything on any: a graph ends in one stream.
    pub(super) fn join_all(&mut self) -> Result<(), CaptureError> {
        let streams = self.scope_work.len();
        // Behind the joins the first stream comes after branches that have no part in what it keeps.
        let ends = self.ends()?;
        for branch in 1..streams {
            if self.has_begun(branch) {
                self.order(0, branch)?;
            }
        }
        (0..streams).try_for_each(|stream| self.expect(stream).map(drop))?;
        self.keep_to_the_end(&ends)
    }

    /// The handles of the nodes that each stream has come to; none for one that takes no part.
    fn ends(&mut self) -> Result<Vec<Vec<u64>>, CaptureError> {
        let streams = self.scope_work.len();
        let end = |stream| match stream == 0 || self.has_begun(stream) {
            true => self.frontier(stream),
            false => Ok(Vec::new()),
        };
        (0..streams).map(end).collect()
    }

    /// The nodes at which ends what is kept or lent on a stream: its own, and those of streams that were given
    /// memory of it.
    fn end_of_what_is_on(&self, stream: usize, ends: &[Vec<u64>]) -> Vec<u64> {
        let given = self.scope_work[stream].touched.iter();
        let mut nodes = given
            .chain([&stream])
            .flat_map(|&one| self.own_of(one, &ends[one]))
            .collect::<Vec<_>>();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Notes that what is kept is used until the end: by the last operation, which comes after all others. In the
    /// graph its last uses are at the ends of the streams that have it.
    fn keep_to_the_end(&mut self, ends: &[Vec<u64>]) -> Result<(), CaptureError> {
        let nodes = self.frontier(0)?;
        // What was lent to a guard that was forgotten is used to the end.
        for stream in 0..self.scope_work.len() {
            if self.is_open(stream) {
                self.end_span(stream, nodes.clone());
            }
        }
        let stays = |region: &Region| region.is_temporary() && (region.kept || region.lent);
        if !self.record.regions.iter().any(stays) {
            return Ok(());
        }
        let operation = self.record.model.operation(0);
        let last: Vec<Vec<u64>> =
            (0..ends.len()).map(|stream| self.end_of_what_is_on(stream, ends)).collect();
        for place in 0..self.record.regions.len() {
            let region = &self.record.regions[place];
            if stays(region) {
                let mut nodes = last[region.writer].clone();
                self.keep_newer(&mut nodes, region.since);
                self.record.regions[place].used(0, true, Markers { operation, nodes });
            }
        }
        Ok(())
    }
}
