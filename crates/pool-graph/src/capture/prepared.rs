//! A session with memory: it runs the body, reads back what came out, has it verified, and hands it
//! over as a graph.

use std::collections::HashMap;
use std::sync::Arc;

use pool_cuda::cudarc::driver::CudaStream;

use super::driver::{CaptureMode, OrderEvent, UnderWay, bind, is_capturing, wait_for};
use super::error::CaptureError;
use super::footprint;
use super::region::Region;
use super::scope::{Capture, Live, Recorded};
use super::trace::Trace;
use crate::arena::ArenaPolicy;
use crate::captured::{CapturedGraph, Capturing, Graph, GraphMemory, OwnArena, Parts};
use crate::lease::Lease;
use crate::verify::{Access, LaidOut, verify_layout};

/// The second state of a capture: streams, leases and an arena.
#[derive(Debug)]
pub struct PreparedCapture {
    // In the order in which they may go: what the arena's memory is used by, then the arena.
    streams: Vec<Arc<CudaStream>>,
    leases: Vec<Lease>,
    mode: CaptureMode,
    planned: Option<Trace>,
    /// For one more capture in an arena that has some: its policy for this one.
    shared: Option<ArenaPolicy>,
    arena: Arc<OwnArena>,
}

impl PreparedCapture {
    pub(super) fn new(
        streams: Vec<Arc<CudaStream>>,
        leases: Vec<Lease>,
        mode: CaptureMode,
        arena: Arc<OwnArena>,
    ) -> Self {
        Self { streams, leases, mode, planned: None, shared: None, arena }
    }

    pub(super) fn following(self, planned: Option<Trace>) -> Self {
        Self { planned, ..self }
    }

    pub(super) fn sharing(self, policy: ArenaPolicy) -> Self {
        Self { shared: Some(policy), ..self }
    }

    /// Captures what the body puts on the streams, which are waited for first. All branches are joined
    /// at its end.
    ///
    /// The graph that came out is read back, node by node and edge by edge, and what it orders is
    /// compared with where its temporaries lie, whatever the policy of the arena. The state becomes the
    /// graph's.
    ///
    /// When the body fails or panics, the capture is ended and thrown away: the streams and the device
    /// are as before, and arena and leases are given up.
    ///
    /// # Errors
    ///
    /// What the body answers; [`CaptureError::AlreadyCapturing`], [`CaptureError::Diverged`],
    /// [`CaptureError::MemoryNodes`], [`CaptureError::Layout`], [`CaptureError::Spoiled`]; and what the
    /// driver refuses.
    pub fn capture<S, E: From<CaptureError>>(
        self,
        mut state: S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<CapturedGraph<S>, E> {
        let (graph, recorded) = self.run(&mut state, body)?;
        Ok(self.finish(graph, recorded, state)?)
    }

    /// The graph that the body makes, and what it did.
    pub(super) fn run<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<(Graph, Recorded), E> {
        let own = self.streams[0].context();
        bind(own).map_err(CaptureError::from)?;
        let capturing = Capturing::enter(self.streams.iter())
            .map_err(|stream| CaptureError::AlreadyCapturing { stream })?;
        self.settle_streams()?;
        if let Some(policy) = &self.shared {
            self.arena.arena().share(policy.clone());
        }
        let event = OrderEvent::new(own).map_err(CaptureError::from)?;
        let live = Live { arena: self.arena.arena(), event: &event };
        let planned = self.planned.as_ref();
        let capture = Capture::new(&self.streams, &self.leases, Some(live), planned);
        // Declared last, so that it is dropped first when the body fails or unwinds: the stream is
        // captured no more when the rest goes.
        let under_way = UnderWay::begin(&self.streams[0], self.mode).map_err(CaptureError::from)?;
        body(&capture, state)?;
        bind(own).map_err(CaptureError::from)?;
        capture.join_all()?;
        let graph = under_way.end().map_err(CaptureError::from)?;
        let recorded = capture.into_recorded();
        drop(event);
        drop(capturing);
        if planned.is_some_and(|planned| recorded.trace != *planned) {
            let planned = planned.map_or(0, Trace::steps);
            return Err(CaptureError::Diverged { step: recorded.trace.steps(), planned }.into());
        }
        Ok((graph.ok_or(CaptureError::Spoiled)?, recorded))
    }

    /// No stream is captured by someone else, and all their work is done.
    fn settle_streams(&self) -> Result<(), CaptureError> {
        self.streams.iter().try_for_each(|stream| {
            if is_capturing(stream)? {
                let stream = stream.cu_stream().addr() as u64;
                return Err(CaptureError::AlreadyCapturing { stream });
            }
            Ok(wait_for(stream)?)
        })
    }

    fn finish<S>(
        self,
        graph: Graph,
        recorded: Recorded,
        state: S,
    ) -> Result<CapturedGraph<S>, CaptureError> {
        let verified = self.verify(&graph, &recorded.regions)?;
        let peak = self.arena.arena().stats().high_water_bytes;
        let footprint = footprint::of_capture(&recorded.model, &recorded.regions, peak)?;
        let executable = graph.instantiate()?;
        let mut leases = vec![self.arena.arena().lease()];
        leases.extend(self.leases);
        let memory = Arc::new(GraphMemory::new(recorded.host, leases, self.arena));
        let stream = Arc::clone(&self.streams[0]);
        let parts = Parts { executable, graph, memory, stream, footprint, verified };
        Ok(CapturedGraph::new(parts, state))
    }

    /// Reads the graph back, translates what was recorded into what the verifier asks for, and asks it.
    pub(super) fn verify(
        &self,
        graph: &Graph,
        regions: &[Region],
    ) -> Result<crate::verify::Verified, CaptureError> {
        let contents = graph.contents()?;
        if contents.memory_nodes > 0 {
            return Err(CaptureError::MemoryNodes { nodes: contents.memory_nodes });
        }
        let numbers: HashMap<u64, usize> = contents.nodes.iter().copied().zip(0..).collect();
        // A handle that the graph does not have becomes a number that it does not have: refused.
        let number = |node: &u64| numbers.get(node).copied().unwrap_or(usize::MAX);
        let layout: Vec<LaidOut> = regions
            .iter()
            .filter_map(|region| {
                let users = || region.users.values();
                let last = || users().flat_map(|uses| &uses.last.nodes);
                let earlier = users().flat_map(|uses| &uses.earlier);
                Some(LaidOut {
                    offset: region.offset?,
                    bytes: region.bytes,
                    uses: earlier.chain(last()).map(number).collect(),
                    after: region.after.iter().map(number).collect(),
                    until: last().map(number).collect(),
                })
            })
            .collect();
        let (base, capacity) = (self.arena.address(), self.arena.arena().capacity());
        let in_arena = |&(node, address, bytes): &(usize, u64, u64)| {
            let offset = address.checked_sub(base).filter(|&offset| offset < capacity)?;
            Some(Access { node, offset, bytes })
        };
        let accesses: Vec<Access> = contents.accesses.iter().filter_map(in_arena).collect();
        Ok(verify_layout(&contents.order, &layout, &accesses)?)
    }
}
