//! What a body did so far: its steps, what they took and used, what they put on streams and which nodes these
//! have come to.

use std::collections::{HashMap, HashSet};

use super::frontiers::Frontiers;
use super::model::Model;
use super::region::Region;
use super::span::{NodeOwner, Span};
use super::trace::Trace;
use crate::capture::error::CaptureError;
use crate::capture::sharing::Shares;
use crate::driver::{CaptureObserver, HostBuffer};

/// What the body did so far.
pub(crate) struct Recorded {
    /// The number of the capture.
    pub(crate) capture: u64,
    pub(crate) model: Model,
    pub(crate) trace: Trace,
    pub(crate) regions: Vec<Region>,
    /// How many of them are temporaries.
    temporaries: usize,
    /// Where streams were left; none in a dry run, and before the capture has begun.
    frontiers: Option<Frontiers>,
    /// What was put on streams, piece by piece.
    pub(crate) spans: Vec<Span>,
    /// What the blocks of the session are used for.
    pub(crate) shares: Shares,
    /// What copies of the graph read: host arguments, and values of scopes and lent views.
    pub(crate) host: Vec<Option<HostBuffer>>,
    /// Where each host argument is among them; one of no bytes needs no memory. Scopes and lent views are no steps,
    /// so what they put there has no part in the names of arguments.
    pub(crate) arguments: Vec<Option<usize>>,
    /// What went wrong where nobody could be told.
    pub(crate) broken: Option<CaptureError>,
    /// The nodes that streams came to, by handle: the how many-th each was.
    met: HashMap<u64, usize>,
    /// Of each stream, what is put there without being noted here.
    open: Vec<ScopeWork>,
    /// Of each stream, the nodes of others that it came behind by waits of the capture.
    brought: Vec<HashSet<u64>>,
    /// Where the next temporary of a dry run begins.
    dry: u64,
}

/// Work of scopes and lent views on a stream: nothing tells of each of their operations.
#[derive(Clone, Debug, Default)]
struct ScopeWork {
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

impl Recorded {
    pub(crate) fn new(capture: u64, streams: usize) -> Self {
        Self {
            capture,
            model: Model::new(streams),
            frontiers: None,
            spans: Vec::new(),
            trace: Trace::default(),
            regions: Vec::new(),
            temporaries: 0,
            shares: Shares::default(),
            host: Vec::new(),
            arguments: Vec::new(),
            broken: None,
            met: HashMap::new(),
            open: vec![ScopeWork::default(); streams],
            brought: vec![HashSet::new(); streams],
            dry: DRY_BASE,
        }
    }

    /// The driver's capture has begun, of so many streams.
    pub(crate) fn begun(&mut self, streams: usize, onlooker: CaptureObserver) {
        self.frontiers = Some(Frontiers::new(streams, onlooker));
    }

    /// Where the streams of a capture were left.
    pub(crate) fn frontiers(&mut self) -> Result<&mut Frontiers, CaptureError> {
        let found = "a stream was asked for before its capture began";
        self.frontiers.as_mut().ok_or(CaptureError::Internal { found })
    }

    /// Something is about to be put on a stream.
    pub(crate) fn leave(&mut self, stream: usize) {
        if let Some(frontiers) = &mut self.frontiers {
            frontiers.leave(stream);
        }
    }

    /// The handles of the nodes at which a stream was left; none in a dry run.
    pub(crate) fn left_at(&self, stream: usize) -> Vec<u64> {
        self.frontiers.as_ref().map_or_else(Vec::new, |frontiers| frontiers.at(stream))
    }

    /// The number of the next temporary.
    pub(crate) fn name_temporary(&mut self) -> usize {
        self.temporaries += 1;
        self.temporaries - 1
    }

    /// Where the next temporary of a dry run lies, and how far that is from the first.
    pub(crate) fn take_dry(&mut self, bytes: u64) -> Result<(u64, u64), CaptureError> {
        let address = self.dry;
        let overflow = CaptureError::SizeOverflow {
            elements: usize::try_from(bytes).unwrap_or(usize::MAX),
            size: 1,
        };
        self.dry = address.checked_add(bytes).ok_or(overflow)?;
        Ok((address, address - DRY_BASE))
    }

    /// Whether a stream has to wait so that its next operation comes after all of another one's.
    pub(crate) fn must_wait(&mut self, later: usize, earlier: usize) -> bool {
        if later != earlier && self.may_hold_more(earlier) {
            self.model.operation(earlier);
        }
        self.model.must_wait(later, earlier)
    }

    /// Whether a stream may hold work that was not noted.
    pub(crate) fn may_hold_more(&self, stream: usize) -> bool {
        let touches = |open: &ScopeWork| open.guards > 0 && open.touched.contains(&stream);
        self.is_open(stream) || self.open.iter().any(touches)
    }

    /// Work that is not noted begins on a stream, which stands at these nodes.
    pub(crate) fn open(&mut self, stream: usize, at: &[u64]) {
        let begun = self.spans.len();
        let open = &mut self.open[stream];
        if open.guards == 0 {
            (open.begun, open.before) = (begun, at.to_vec());
        }
        open.guards += 1;
    }

    /// Whether a scope is open on a stream, or a view lent.
    pub(crate) fn is_open(&self, stream: usize) -> bool {
        self.open[stream].guards > 0
    }

    /// Another stream was given memory of what is open on this one.
    pub(crate) fn touch(&mut self, stream: usize, other: usize) {
        if !self.open[stream].touched.contains(&other) {
            self.open[stream].touched.push(other);
        }
    }

    /// The nodes at which ends what is kept or lent on a stream: its own, and those of streams that were given
    /// memory of it.
    pub(crate) fn end_of_what_is_on(&self, stream: usize, ends: &[Vec<u64>]) -> Vec<u64> {
        let given = self.open[stream].touched.iter();
        let mut nodes = given
            .chain([&stream])
            .flat_map(|&one| self.own_of(one, &ends[one]))
            .collect::<Vec<_>>();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// A stream that stood at some nodes was made to come behind others, and stands at these now: what was brought
    /// is no use of what is kept or lent there, as long as its own nodes tell where that ends.
    pub(crate) fn came_behind(&mut self, stream: usize, stood: &[u64], now: &[u64]) {
        if stood.iter().all(|node| now.contains(node)) {
            self.brought[stream].extend(now.iter().filter(|node| !stood.contains(node)));
        }
    }

    /// Of the nodes that a stream stands at those that no wait of the capture brought there.
    pub(crate) fn own_of(&self, stream: usize, nodes: &[u64]) -> Vec<u64> {
        let brought = &self.brought[stream];
        nodes.iter().copied().filter(|node| !brought.contains(node)).collect()
    }

    /// The nodes at which other streams stand are uses of what is open on a stream.
    pub(crate) fn were_given(&mut self, stream: usize, nodes: &[u64]) {
        for node in nodes {
            self.brought[stream].remove(node);
        }
    }

    /// What was done there so far is a span, which ends at these nodes; another one begins.
    pub(crate) fn end_span(&mut self, stream: usize, after: Vec<u64>) {
        let open = &mut self.open[stream];
        let before = std::mem::replace(&mut open.before, after.clone());
        let begun = std::mem::replace(&mut open.begun, self.spans.len() + 1);
        self.spans.push(Span { begun, before, after, account: NodeOwner::Scope });
    }

    /// Streams have come to these nodes.
    pub(crate) fn meet(&mut self, nodes: &[u64]) {
        for &node in nodes {
            let met = self.met.len();
            self.met.entry(node).or_insert(met);
        }
    }

    /// How many nodes streams have come to.
    pub(crate) fn met(&self) -> usize {
        self.met.len()
    }

    /// Leaves of some nodes those that no stream had come to when so many had been met.
    pub(crate) fn keep_newer(&self, nodes: &mut Vec<u64>, met: usize) {
        nodes.retain(|node| self.met.get(node).is_some_and(|&number| number >= met));
    }

    /// Some such work is over, and the stream has come after what others did of it: now it is noted, as
    /// one operation of each. Which streams those are.
    pub(crate) fn close(&mut self, stream: usize) -> Vec<usize> {
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
    pub(crate) fn open_scope(&mut self, stream: usize) -> bool {
        !std::mem::replace(&mut self.open[stream].scope, true)
    }

    pub(crate) fn close_scope(&mut self, stream: usize) {
        self.open[stream].scope = false;
    }
}
