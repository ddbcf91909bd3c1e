//! The setup that all of a session's captures share. The setup runs a body and then reads and
//! verifies the resulting graph. The session's graphs retain this setup because an update is
//! another capture with the same setup.

use std::collections::HashMap;
use std::sync::Arc;

#[cfg(feature = "record")]
use pool_plan::GraphRecord;

use pool_driver::context::bind;
use pool_driver::cudarc::driver::CudaContext;
use pool_driver::event::Event;
use pool_driver::host_buffer::HostBuffer;

use super::body::{Account, BodyRecord, Capture, Frontiers, LiveCapture, Region, Trace};
use super::closed_world::ClosedWorld;
use super::error::CaptureError;
use super::footprint::{self, Footprint};
use super::owned_layout::OwnedLayout;
#[cfg(feature = "record")]
use super::record;
use super::resources::SessionResources;
use super::retired_graph::ActiveCapture;
use super::sharing::Shares;
use super::temporary_name::TemporaryName;
use crate::arena::ArenaMark;
use crate::driver::{CaptureMode, Contents, Graph, KeptValues, StreamCapture};
use crate::lease::Lease;
use crate::verify::{LayoutViolation, NodeAccess, RegionLayout, Verification, verify_layout};

/// A session's streams, capture mode, and memory, along with the arena mark at which its captures
/// start to allocate.
#[derive(Debug)]
pub(crate) struct CaptureSetup {
    pub(super) mode: CaptureMode,
    /// The trace from a dry run that captures must follow, or `None` if they need not follow one.
    pub(super) planned: Option<Trace>,
    pub(super) begin: ArenaMark,
    pub(super) resources: Arc<SessionResources>,
}

/// The reason a body is run: to create a graph or to update one.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'p> {
    /// The body creates a new graph. The graph owns the regions that the body allocates from the
    /// arena.
    Graph,
    /// The body updates a graph and reallocates the regions that this graph already owns.
    Update(&'p Pattern),
}

/// The steps and offsets that an update of a graph must repeat.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The identifying number that all captures of the graph share. This number also identifies the
    /// graph's host arguments.
    pub(crate) capture: u64,
    trace: Trace,
    /// The offsets of the temporaries in the arena, in allocation order.
    pub(crate) offsets: Vec<u64>,
}

/// The result of a capture: the graph and the body's record.
pub(crate) struct CaptureOutcome {
    pub(super) graph: Graph,
    pub(super) record: BodyRecord,
    /// The highest end offset of any region allocated in the arena, in bytes.
    peak: u64,
}

/// A capture in progress, together with the interface passed to its body.
struct RunningCapture<'c> {
    // Rust drops fields in declaration order. If the body fails or panics, the driver's capture
    // must end before the body's pools are dropped. The `under_way` field is therefore declared
    // first.
    under_way: StreamCapture,
    capture: Capture<'c>,
}

impl RunningCapture<'_> {
    /// Joins all branches and ends the capture. Returns `None` instead of a graph if another thread
    /// has invalidated the capture.
    fn end(self, context: &CudaContext) -> Result<(Option<Graph>, BodyRecord), CaptureError> {
        let bound = bind(context);
        // An earlier error from the body, returned by `join_all`, takes precedence over an error
        // from `bind`.
        self.capture.join_all()?;
        bound?;
        let Self { under_way, capture } = self;
        let graph = under_way.end()?;
        Ok((graph, capture.into_record()))
    }
}

/// A graph that has been read back and verified, together with the host memory that its nodes use.
pub(crate) struct VerifiedGraph {
    pub(crate) graph: Graph,
    pub(crate) host: Vec<Option<HostBuffer>>,
    /// The index of each host argument in `host`, or `None` for an argument of 0 bytes.
    pub(crate) arguments: Vec<Option<usize>>,
    pub(crate) contents: Contents,
    pub(crate) pattern: Pattern,
    pub(crate) shares: Shares,
    pub(crate) footprint: Footprint,
    /// The record of the graph's temporaries, without their offsets.
    #[cfg(feature = "record")]
    pub(crate) record: Option<GraphRecord>,
    pub(crate) verified: Verification,
}

impl CaptureSetup {
    /// Returns the resources that the session's graphs keep alive.
    pub(crate) fn resources(&self) -> &Arc<SessionResources> {
        &self.resources
    }

    /// Runs the body and returns both the graph and the body's record. If the call fails, the
    /// streams and the arena return to their previous state.
    pub(crate) fn run<S, E: From<CaptureError>>(
        &self,
        purpose: Purpose<'_>,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<CaptureOutcome, E> {
        let own = self.resources.stream().context();
        bind(own).map_err(CaptureError::from)?;
        // All captures into the same arena use the same first stream. After this point, only this
        // capture changes the arena's state.
        let _capturing = ActiveCapture::enter(self.resources.streams())?;
        self.resources.memory().check()?;
        let arena = self.resources.memory().arena.arena();
        let regions = arena.begin_at(&self.begin).map_err(CaptureError::from)?;
        let followed = purpose.followed().or(self.planned.as_ref());
        let running = self.begin(purpose, followed)?;
        body(&running.capture, state)?;
        let (graph, record) = running.end(own)?;
        // If the capture was invalidated, the body might have skipped steps. The invalidation
        // therefore takes precedence over a difference between the traces.
        let graph = graph.ok_or_else(|| CaptureError::invalidated(own, self.mode))?;
        let leaves = |planned: &Trace| Some((record.trace.leaves(planned)?, planned.steps()));
        if let Some((step, planned)) = followed.and_then(leaves) {
            return Err(CaptureError::Diverged { step, planned }.into());
        }
        // If the body has reset the arena, other code might have reused the graph's part of the
        // arena.
        self.resources.memory().check()?;
        let peak = arena.stats().high_water_bytes;
        if matches!(purpose, Purpose::Graph) {
            regions.keep();
        }
        Ok(CaptureOutcome { graph, record, peak })
    }

    /// Begins the capture in the driver and creates the interface for a body that must follow the
    /// steps in `followed`.
    fn begin(
        &self,
        purpose: Purpose<'_>,
        followed: Option<&Trace>,
    ) -> Result<RunningCapture<'_>, CaptureError> {
        let arena = self.resources.memory().arena.arena();
        let context = self.resources.stream().context();
        let event = Arc::new(Event::new(context)?);
        let shares = self.share_blocks()?;
        let values = KeptValues::new()?;
        let under_way = StreamCapture::begin(self.resources.stream(), self.mode, &event, &values)?
            .ok_or_else(|| CaptureError::invalidated(context, self.mode))?;
        let streams = self.resources.all_streams();
        let frontiers = Frontiers::new(streams.len(), under_way.observer(), self.mode);
        let live = LiveCapture::new(arena, event, frontiers);
        let planned = followed.cloned();
        let account = Account::live(streams, live, planned, purpose.capture(), shares, values);
        let capture = Capture::new(account, self.resources.memory().kept());
        Ok(RunningCapture { under_way, capture })
    }

    /// Returns a set of block uses that contains one read of each leased block. Writes to a block
    /// are recorded when the operation that performs them is captured.
    fn share_blocks(&self) -> Result<Shares, CaptureError> {
        let mut shares = Shares::default();
        for block in self.resources.memory().leases.iter().flat_map(Lease::blocks) {
            shares.add(block.id(), self.resources.stream(), false)?;
        }
        Ok(shares)
    }

    /// Reads back all of the graph's nodes and edges, and checks that the offsets of its
    /// temporaries are safe under the graph's order.
    pub(crate) fn examine(
        &self,
        outcome: CaptureOutcome,
        purpose: Purpose<'_>,
    ) -> Result<VerifiedGraph, CaptureError> {
        let CaptureOutcome { graph, record, peak } = outcome;
        let (contents, verified) = self.verify(&graph, &record)?;
        let problem = footprint::problem(&record.model, &record.regions)?;
        let footprint = footprint::of_capture(problem.as_ref(), &record.regions, peak);
        #[cfg(feature = "record")]
        let recorded = match &problem {
            Some(problem) => {
                let capacity = self.resources.memory().arena.arena().capacity();
                Some(record::of(problem, &record.model, &record.regions, capacity)?)
            }
            None => None,
        };
        let offsets: Vec<u64> = record.regions.iter().filter_map(|region| region.offset).collect();
        purpose.check_offsets(&offsets)?;
        let BodyRecord { capture, trace, host, arguments, shares, .. } = record;
        let pattern = Pattern { capture, trace, offsets };
        Ok(VerifiedGraph {
            graph,
            host,
            arguments,
            contents,
            pattern,
            shares,
            footprint,
            #[cfg(feature = "record")]
            record: recorded,
            verified,
        })
    }

    /// Reads back the graph, converts the body's record into the verifier's input, and runs the
    /// verifier.
    pub(super) fn verify(
        &self,
        graph: &Graph,
        record: &BodyRecord,
    ) -> Result<(Contents, Verification), CaptureError> {
        let contents = Contents::of(graph)?;
        if contents.memory_nodes > 0 {
            return Err(CaptureError::MemoryNodes { nodes: contents.memory_nodes });
        }
        let handles = contents.nodes.iter().map(|node| node.handle);
        let numbers: HashMap<u64, usize> = handles.zip(0..).collect();
        // An unknown handle is mapped to an invalid number, which the verifier rejects.
        let number = |node: &u64| numbers.get(node).copied().unwrap_or(usize::MAX);
        let BodyRecord { regions, spans, host, .. } = record;
        let memory = self.resources.memory();
        ClosedWorld { memory, host, spans, numbers: &numbers }.check(&contents)?;
        if let Some((kind, reason)) = contents.unreadable {
            return Err(CaptureError::UnreadableNode { kind, reason });
        }
        let temporaries: Vec<(&Region, u64)> =
            regions.iter().filter_map(|region| Some((region, region.offset?))).collect();
        let layout: Vec<RegionLayout> =
            temporaries.iter().map(|&(region, offset)| laid_out(region, offset, number)).collect();
        let arena = &self.resources.memory().arena;
        let (base, capacity) = (arena.address(), arena.arena().capacity());
        // The arena is a separate allocation, so an access must not start below the arena and
        // extend into it.
        let before = |&&(_, address, bytes): &&(usize, u64, u64)| {
            address < base && address.saturating_add(bytes) > base
        };
        if let Some(&(_, address, bytes)) = contents.accesses.iter().find(before) {
            return Err(CaptureError::ForeignMemory { address, bytes });
        }
        let written = |&&(_, address, bytes): &&(usize, u64, u64)| {
            memory.owned.iter().any(|owned| !owned.is_written && owned.meets(address, bytes))
        };
        if let Some(&(_, address, bytes)) = contents.writes.iter().find(written) {
            return Err(CaptureError::ReadOnly { address, bytes });
        }
        let owned = OwnedLayout::new(regions, capacity, number);
        let in_layout = |&(node, address, bytes): &(usize, u64, u64)| {
            let in_arena = address.checked_sub(base).filter(|&offset| offset < capacity);
            let offset = in_arena.or_else(|| owned.offset_of(address))?;
            Some(NodeAccess { node, offset, bytes })
        };
        let accesses: Vec<NodeAccess> = contents.accesses.iter().filter_map(in_layout).collect();
        let name = |number: usize| {
            let region = temporaries.get(number).map(|(region, _)| region);
            TemporaryName { number, taken_by: region.and_then(|region| region.site.call) }
        };
        let layout = [layout, owned.layout.clone()].concat();
        let verified = verify_layout(&contents.order, &layout, &accesses);
        let verified = verified.map_err(|violation| match violation {
            LayoutViolation::Unordered { first, .. } if first >= temporaries.len() => {
                owned.refusal(layout[first].offset)
            }
            LayoutViolation::StrayAccess { offset, .. } if offset >= owned.begin => {
                owned.refusal(offset)
            }
            LayoutViolation::Unordered { first, second } => {
                CaptureError::Unordered { first: name(first), second: name(second) }
            }
            other => other.into(),
        })?;
        Ok((contents, verified))
    }
}

/// Converts a temporary and its offset into the verifier's format. The `number` closure returns the
/// index of a node.
fn laid_out(region: &Region, offset: u64, number: impl Fn(&u64) -> usize) -> RegionLayout {
    let users = || region.users.values();
    RegionLayout {
        offset,
        bytes: region.bytes,
        uses: users().flat_map(|uses| &uses.known).map(&number).collect(),
        after: region.after.iter().map(&number).collect(),
        until: users().flat_map(|uses| &uses.until).map(&number).collect(),
    }
}

impl<'p> Purpose<'p> {
    /// Returns the number that identifies the capture. An update uses its graph's number, and a new
    /// graph receives a new number.
    fn capture(self) -> Option<u64> {
        match self {
            Purpose::Graph => None,
            Purpose::Update(pattern) => Some(pattern.capture),
        }
    }

    fn followed(self) -> Option<&'p Trace> {
        match self {
            Purpose::Graph => None,
            Purpose::Update(pattern) => Some(&pattern.trace),
        }
    }

    /// Checks that an update's temporaries are at the same offsets as the graph's temporaries. If
    /// the body repeats its steps, only a linear arena can yield different offsets. A linear arena
    /// reuses bytes in the order in which views are dropped.
    fn check_offsets(self, offsets: &[u64]) -> Result<(), CaptureError> {
        let Purpose::Update(pattern) = self else { return Ok(()) };
        let differs = pattern.offsets.iter().zip(offsets).position(|(before, now)| before != now);
        differs.map_or(Ok(()), |temporary| {
            let (before, now) = (pattern.offsets[temporary], offsets[temporary]);
            Err(CaptureError::Moved { temporary, before, now })
        })
    }
}
