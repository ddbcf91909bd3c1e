//! Captures: the participating streams, the calls that are refused during a capture, and the calls
//! that invalidate it.

use super::World;
use super::state::capture::{Capture, Membership, Mode, Status};
use super::state::graph::EdgeData;
use super::state::handle::Kind;
use super::state::stream::Order;
use super::state::work::Work;
use crate::code::{Code, Outcome};

impl World {
    pub(crate) fn begin_capture(&mut self, thread: u64, stream: u64, mode: Mode) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        if self.streams[stream].order == Order::Legacy {
            return Err(Code::CAPTURE_UNSUPPORTED);
        }
        if self.streams[stream].capture.is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        let graph = self.new_graph();
        let status = Status::Active;
        self.captures.push(Capture { graph, origin: stream, thread, mode, status });
        let capture = self.captures.len() - 1;
        self.streams[stream].capture = Some(Membership { capture, tail: Vec::new() });
        Ok(())
    }

    pub(crate) fn end_capture(&mut self, thread: u64, stream: u64) -> Outcome<u64> {
        let stream = self.stream(thread, stream)?;
        let Some(membership) = self.streams[stream].capture.clone() else {
            return Err(Code::ILLEGAL_STATE);
        };
        let capture = membership.capture;
        let own = &self.captures[capture];
        if own.origin != stream {
            self.invalidate(capture);
            return Err(Code::CAPTURE_UNMATCHED);
        }
        if own.mode != Mode::Relaxed && own.thread != thread {
            return Err(Code::CAPTURE_WRONG_THREAD);
        }
        let (graph, spoiled) = (own.graph, own.status == Status::Invalidated);
        let joined = self.is_joined(capture, graph, &membership.tail);
        self.dissolve(capture);
        if spoiled {
            return Err(Code::CAPTURE_INVALIDATED);
        }
        if !joined {
            return Err(Code::CAPTURE_UNJOINED);
        }
        self.graphs[graph].lives = true;
        Ok(self.handles.make(Kind::Graph, graph))
    }

    /// Returns `true` if all branches of the capture have been joined to its first stream.
    fn is_joined(&self, capture: usize, graph: usize, tail: &[usize]) -> bool {
        let mut before = self.ancestors(graph, tail);
        before.extend(tail);
        let members = self.streams.iter().filter_map(|stream| stream.capture.as_ref());
        let mut members = members.filter(|member| member.capture == capture);
        members.all(|member| member.tail.iter().all(|node| before.contains(node)))
    }

    /// Ends a capture. Its graph is destroyed unless the caller keeps it.
    fn dissolve(&mut self, capture: usize) {
        self.captures[capture].status = Status::None;
        let graph = self.captures[capture].graph;
        self.graphs[graph].lives = false;
        for stream in &mut self.streams {
            if stream.capture.as_ref().is_some_and(|member| member.capture == capture) {
                stream.capture = None;
            }
        }
    }

    /// Handles the destruction of a participating stream. If the capture began on this stream, the
    /// capture ends.
    pub(crate) fn abandon_capture(&mut self, capture: usize) {
        self.invalidate(capture);
        if self.streams[self.captures[capture].origin].capture.is_none() {
            self.dissolve(capture);
        }
    }

    pub(crate) fn is_active(&self, capture: usize) -> bool {
        self.captures[capture].status == Status::Active
    }

    pub(crate) fn has_ended(&self, capture: usize) -> bool {
        self.captures[capture].status == Status::None
    }

    pub(crate) fn invalidate(&mut self, capture: usize) {
        let status = &mut self.captures[capture].status;
        if *status == Status::Active {
            *status = Status::Invalidated;
        }
    }

    /// Returns the capture that a stream takes part in, and the last nodes of its branch. Fails if
    /// the capture has been invalidated.
    pub(crate) fn capturing(&self, stream: usize) -> Outcome<Option<(usize, Vec<usize>)>> {
        match &self.streams[stream].capture {
            None => Ok(None),
            Some(member) if self.is_active(member.capture) => {
                Ok(Some((member.capture, member.tail.clone())))
            }
            Some(_) => Err(Code::CAPTURE_INVALIDATED),
        }
    }

    pub(crate) fn capture_status(&mut self, thread: u64, stream: u64) -> Outcome<Status> {
        let stream = self.stream(thread, stream)?;
        // The documentation of this call states that it invalidates nothing.
        if !self.captures_beside_legacy(stream).is_empty() {
            return Err(Code::CAPTURE_IMPLICIT);
        }
        let capture = self.streams[stream].capture.as_ref().map(|member| member.capture);
        Ok(capture.map_or(Status::None, |capture| self.captures[capture].status))
    }

    /// Returns the capture's status, ID and graph.
    pub(crate) fn capture_facts(
        &mut self,
        thread: u64,
        stream: u64,
    ) -> Outcome<(Status, u64, u64)> {
        let status = self.capture_status(thread, stream)?;
        let stream = self.stream(thread, stream)?;
        let Some(member) = &self.streams[stream].capture else { return Ok((status, 0, 0)) };
        let graph = self.handles.make(Kind::Graph, self.captures[member.capture].graph);
        Ok((status, member.capture as u64 + 1, graph))
    }

    /// Returns the nodes that the next node will depend on, and the data of the edges, which are
    /// all plain. Both remain valid until the stream's capture is queried again.
    pub(crate) fn show_tail(&mut self, thread: u64, stream: u64) -> Outcome<(&[u64], &[u64])> {
        let stream = self.stream(thread, stream)?;
        let member = self.streams[stream].capture.as_ref();
        let nodes = member.map_or(&[][..], |member| &member.tail);
        let tail: Vec<u64> =
            nodes.iter().map(|node| self.handles.make(Kind::Node, *node)).collect();
        let plain = vec![0; tail.len()];
        let shown = self.shown.entry(stream).or_default();
        *shown = (tail, plain);
        Ok((&shown.0, &shown.1))
    }

    /// Adds a node at the end of the stream's branch.
    pub(crate) fn capture_work(&mut self, stream: usize, work: Work) {
        let Some(member) = &self.streams[stream].capture else { return };
        let (graph, tail) = (self.captures[member.capture].graph, member.tail.clone());
        let node = self.new_node(graph, &tail, work);
        if let Some(member) = &mut self.streams[stream].capture {
            member.tail = vec![node];
        }
    }

    /// Adds a kernel that may start before its preceding kernels have ended.
    pub(crate) fn capture_dependent(&mut self, stream: usize, work: Work) {
        let Some(member) = &self.streams[stream].capture else { return };
        let (graph, tail) = (self.captures[member.capture].graph, member.tail.clone());
        let edge = |node: usize| match self.nodes[node].work {
            Work::Kernel(_) => (node, EdgeData::PROGRAMMATIC),
            _ => (node, EdgeData::default()),
        };
        let before = tail.into_iter().map(edge).collect();
        let node = self.new_node_behind(graph, before, work);
        if let Some(member) = &mut self.streams[stream].capture {
            member.tail = vec![node];
        }
    }

    /// Adds an allocation that the graph will perform.
    pub(crate) fn capture_allocation(
        &mut self,
        stream: usize,
        bytes: usize,
        device: usize,
    ) -> Outcome<u64> {
        let Some((capture, tail)) = self.capturing(stream)? else {
            return Err(Code::ILLEGAL_STATE);
        };
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let graph = self.captures[capture].graph;
        let address = self.address_in_graph(graph, &tail, bytes)?;
        self.capture_work(stream, Work::Allocate { address, bytes, device });
        let node = self.last_node(graph);
        self.allocated_in_graph(graph, address, bytes, device, node);
        Ok(address)
    }

    pub(crate) fn extend_tail(&mut self, stream: usize, nodes: &[usize]) {
        let Some(member) = &mut self.streams[stream].capture else { return };
        for node in nodes {
            if !member.tail.contains(node) {
                member.tail.push(*node);
            }
        }
        if self.other_answers {
            self.drop_implied_nodes(stream);
        }
    }

    /// Removes nodes from the end of the branch if other nodes there already depend on them.
    fn drop_implied_nodes(&mut self, stream: usize) {
        let Some(Membership { capture, tail }) = &self.streams[stream].capture else { return };
        let implied = self.ancestors(self.captures[*capture].graph, tail);
        if let Some(member) = &mut self.streams[stream].capture {
            member.tail.retain(|node| !implied.contains(node));
        }
    }

    /// Adds to or replaces the nodes that the stream's next node will depend on.
    pub(crate) fn update_tail(
        &mut self,
        thread: u64,
        stream: u64,
        nodes: &[u64],
        replace: bool,
    ) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        let Some((capture, _)) = self.capturing(stream)? else {
            return Err(Code::ILLEGAL_STATE);
        };
        let nodes = self.nodes_of(self.captures[capture].graph, nodes)?;
        if let (Some(member), true) = (&mut self.streams[stream].capture, replace) {
            member.tail.clear();
        }
        self.extend_tail(stream, &nodes);
        Ok(())
    }

    /// Makes a stream that waits for a captured event join the capture.
    pub(crate) fn join_capture(
        &mut self,
        stream: usize,
        capture: usize,
        tail: Vec<usize>,
    ) -> Outcome<()> {
        match self.captures[capture].status {
            Status::Active if self.streams[stream].order == Order::Legacy => {
                self.invalidate(capture);
                Err(Code::CAPTURE_IMPLICIT)
            }
            Status::Active => {
                self.streams[stream].capture = Some(Membership { capture, tail });
                Ok(())
            }
            Status::Invalidated => Err(Code::CAPTURE_INVALIDATED),
            Status::None => Err(Code::INVALID_VALUE),
        }
    }

    /// Refuses to let the host wait for a stream whose capture has not ended. A capture that has
    /// been invalidated does not change the code.
    pub(crate) fn refuse_while_capturing(&mut self, stream: usize) -> Outcome<()> {
        let Some(member) = &self.streams[stream].capture else { return Ok(()) };
        let capture = member.capture;
        self.invalidate(capture);
        Err(Code::CAPTURE_UNSUPPORTED)
    }

    /// Refuses uses of the legacy stream while a blocking stream of its device is capturing.
    pub(crate) fn refuse_legacy_beside_captures(&mut self, stream: usize) -> Outcome<()> {
        let concerned = self.captures_beside_legacy(stream);
        self.spoil(&concerned, Code::CAPTURE_IMPLICIT)
    }

    /// Returns the captures on streams that this stream implicitly waits for, if it is the legacy
    /// stream.
    fn captures_beside_legacy(&self, stream: usize) -> Vec<usize> {
        if self.streams[stream].order != Order::Legacy {
            return Vec::new();
        }
        let device = self.streams[stream].device;
        let blocks = |order| matches!(order, Order::Blocking | Order::PerThread);
        self.active_captures(|other| other.device == device && blocks(other.order))
    }

    /// Refuses to wait for a whole context while a capture is active in it.
    pub(crate) fn refuse_beside_any_capture(&mut self, device: usize) -> Outcome<()> {
        let concerned = self.active_captures(|other| other.device == device);
        self.spoil(&concerned, Code::CAPTURE_UNSUPPORTED)
    }

    pub(in crate::world) fn active_captures(
        &self,
        concerns: impl Fn(&super::state::stream::Stream) -> bool,
    ) -> Vec<usize> {
        let concerned = self.streams.iter().filter(|stream| concerns(stream));
        let members = concerned.filter_map(|stream| stream.capture.as_ref());
        members.map(|member| member.capture).filter(|capture| self.is_active(*capture)).collect()
    }

    /// Refuses calls that CUDA calls potentially unsafe, according to the modes of the captures and
    /// of the thread.
    pub(crate) fn refuse_unsafe_call(&mut self, thread: u64) -> Outcome<()> {
        let mode = self.threads.get(&thread).map_or(Mode::Global, |thread| thread.mode);
        let forbids = |capture: &Capture| {
            let own = capture.thread == thread && capture.mode != Mode::Relaxed;
            match mode {
                Mode::Relaxed => false,
                Mode::ThreadLocal => own,
                Mode::Global => own || capture.mode == Mode::Global,
            }
        };
        let strict = |index: &usize| self.is_active(*index) && forbids(&self.captures[*index]);
        let concerned: Vec<usize> = (0..self.captures.len()).filter(strict).collect();
        self.spoil(&concerned, Code::CAPTURE_UNSUPPORTED)
    }

    fn spoil(&mut self, captures: &[usize], code: Code) -> Outcome<()> {
        for capture in captures {
            self.invalidate(*capture);
        }
        if captures.is_empty() { Ok(()) } else { Err(code) }
    }
}
