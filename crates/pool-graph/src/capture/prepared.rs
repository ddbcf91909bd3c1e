//! A session with memory: it runs the body, reads back what came out, has it verified, and hands it
//! over as a graph.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pool_cuda::cudarc::driver::CudaStream;

use super::driver::{CaptureMode, OrderEvent, UnderWay, bind};
use super::error::CaptureError;
use super::footprint;
use super::region::Region;
use super::scope::{Capture, Live, Recorded};
use super::trace::Trace;
use crate::arena::ArenaPolicy;
use crate::captured::{
    CapturedGraph, Capturing, Contents, Graph, GraphMemory, OwnArena, Parts, Shares,
};
use crate::lease::Lease;
use crate::verify::{Access, LaidOut, verify_layout};

/// The second state of a capture: streams, leases and an arena.
#[derive(Debug)]
pub struct PreparedCapture {
    // In the order in which they may go: what the arena's memory is used by, then the arena.
    streams: Vec<Arc<CudaStream>>,
    leases: Arc<Vec<Lease>>,
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
        let leases = Arc::new(leases);
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
    /// [`CaptureError::MemoryNodes`], [`CaptureError::Layout`], [`CaptureError::Spoiled`],
    /// [`CaptureError::ForeignWork`], [`CaptureError::SharedBlock`]; and what the driver refuses.
    pub fn capture<S, E: From<CaptureError>>(
        self,
        mut state: S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<CapturedGraph<S>, E> {
        let (graph, recorded) = self.run(&mut state, body)?;
        Ok(self.finish(graph, recorded, state)?)
    }

    /// The graph that the body makes, and what it did.
    fn run<S, E: From<CaptureError>>(
        &self,
        state: &mut S,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<(Graph, Recorded), E> {
        let own = self.streams[0].context();
        bind(own).map_err(CaptureError::from)?;
        let capturing = Capturing::enter(&self.streams)?;
        if let Some(policy) = &self.shared {
            self.arena.arena().share(policy.clone());
        }
        let event = OrderEvent::new(own).map_err(CaptureError::from)?;
        let live = Live { arena: self.arena.arena(), event: &event };
        let planned = self.planned.as_ref();
        let capture = Capture::new(&self.streams, &self.leases, Some(live), planned);
        // Declared last, so that it is dropped first when the body fails or unwinds: the stream is
        // captured no more when the rest goes.
        let stolen = || self.keep_for_ever(&capture);
        let under_way = UnderWay::begin(&self.streams[0], self.mode, &stolen);
        let under_way = under_way.map_err(CaptureError::from)?;
        body(&capture, state)?;
        bind(own).map_err(CaptureError::from)?;
        capture.join_all()?;
        let graph = under_way.end().map_err(CaptureError::from)?;
        let recorded = capture.into_recorded();
        drop(event);
        drop(capturing);
        let leaves = |planned: &Trace| Some((recorded.trace.leaves(planned)?, planned.steps()));
        if let Some((step, planned)) = planned.and_then(leaves) {
            return Err(CaptureError::Diverged { step, planned }.into());
        }
        Ok((graph.ok_or(CaptureError::Spoiled)?, recorded))
    }

    /// The capture is somebody else's, who may run it: its memory is kept for ever.
    fn keep_for_ever(&self, capture: &Capture<'_>) {
        std::mem::forget((Arc::clone(&self.arena), Arc::clone(&self.leases)));
        std::mem::forget(std::mem::take(&mut capture.recorded.borrow_mut().host));
    }

    fn finish<S>(
        self,
        graph: Graph,
        recorded: Recorded,
        state: S,
    ) -> Result<CapturedGraph<S>, CaptureError> {
        let contents = graph.contents()?;
        if contents.memory_nodes > 0 {
            return Err(CaptureError::MemoryNodes { nodes: contents.memory_nodes });
        }
        let verified = self.verify(&contents, &recorded.regions)?;
        let peak = self.arena.arena().stats().high_water_bytes;
        let footprint = footprint::of_capture(&recorded.model, &recorded.regions, peak)?;
        let shares = self.share_blocks(&recorded.regions)?;
        let executable = graph.instantiate()?;
        let mut leases = vec![self.arena.arena().lease()];
        leases.extend(Arc::into_inner(self.leases).unwrap_or_default());
        let memory =
            Arc::new(GraphMemory::new(recorded.capture, recorded.host, shares, leases, self.arena));
        let stream = Arc::clone(&self.streams[0]);
        let parts = Parts { executable, graph, memory, stream, footprint, verified };
        Ok(CapturedGraph::new(parts, state))
    }

    /// Notes what the graph does with the blocks that it keeps.
    fn share_blocks(&self, regions: &[Region]) -> Result<Shares, CaptureError> {
        let written: HashSet<u64> = regions
            .iter()
            .filter(|region| region.written && !region.is_temporary())
            .map(|region| region.address)
            .collect();
        let mut shares = Shares::default();
        for block in self.leases.iter().flat_map(Lease::blocks) {
            let writes = written.contains(&block.device_pointer());
            shares.add(block.id(), &self.streams[0], writes)?;
        }
        Ok(shares)
    }

    /// Translates what was recorded into what the verifier asks for, and asks it.
    fn verify(
        &self,
        contents: &Contents,
        regions: &[Region],
    ) -> Result<crate::verify::Verified, CaptureError> {
        let numbers: HashMap<u64, usize> = contents.nodes.iter().copied().zip(0..).collect();
        // A handle that the graph does not have becomes a number that it does not have: refused.
        let number = |node: &u64| numbers.get(node).copied().unwrap_or(usize::MAX);
        let layout: Vec<LaidOut> = regions
            .iter()
            .filter_map(|region| {
                let until = region.users.values().flat_map(|markers| &markers.nodes);
                Some(LaidOut {
                    offset: region.offset?,
                    bytes: region.bytes,
                    after: region.after.iter().map(number).collect(),
                    until: until.map(number).collect(),
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
