//! Graphs: their contents, and launches.

use std::marker::PhantomData;
use std::ptr;

use cudarc::driver::sys;
use sys::CUgraphNodeType_enum as RawKind;

use super::refusal::Outcome;
use super::stream::Stream;

/// A graph.
#[derive(Debug)]
pub struct Graph(sys::CUgraph);

/// A graph that can be launched.
#[derive(Debug)]
pub struct Exec(sys::CUgraphExec);

/// A node of a live graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node<'g> {
    raw: sys::CUgraphNode,
    graph: PhantomData<&'g Graph>,
}

/// The kind of a node, or the number of any other kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Launches a kernel.
    Kernel,
    /// Copies.
    Copy,
    /// Fills.
    Fill,
    /// Calls the host.
    Host,
    /// Runs a child graph.
    Child,
    /// Does nothing.
    Empty,
    /// Waits for an external event.
    Wait,
    /// Allocates.
    Allocate,
    /// Frees.
    Free,
    /// Does something else.
    Other(u32),
}

/// The driver's result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update<'g> {
    /// `CUgraphExecUpdateResult`.
    pub result: u32,
    /// The node of the result, or the later one of the edge.
    pub node: Option<Node<'g>>,
    /// The earlier node of the edge.
    pub from: Option<Node<'g>>,
}

/// `CUgraphExecUpdateResultInfo`, with the result as a number: the driver may have more values than
/// the enum.
#[repr(C)]
struct Told {
    result: u32,
    node: sys::CUgraphNode,
    from: sys::CUgraphNode,
}

/// An edge, its ends as indices into [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The node that comes first.
    pub from: usize,
    /// The node that comes after.
    pub to: usize,
    /// The part of the first node to wait for: 0 its end, 1 its trigger, 2 its start.
    pub from_port: u8,
    /// The part of the second node that waits: 0 all of it.
    pub to_port: u8,
    /// 0 an ordinary edge, 1 a programmatic one.
    pub kind: u8,
}

/// Returns the data of an edge from a kernel's trigger, or from its end.
fn edge_data(programmatic: bool) -> sys::CUgraphEdgeData {
    let kind = u8::from(programmatic);
    sys::CUgraphEdgeData { from_port: kind, to_port: 0, type_: kind, reserved: [0; 5] }
}

impl Graph {
    /// Creates an empty graph.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn new() -> Outcome<Self> {
        let mut graph = ptr::null_mut();
        // SAFETY: the place outlives the call; the flags must be 0.
        unsafe { call!(cuGraphCreate(&raw mut graph, 0)) }?;
        Ok(Self(graph))
    }

    /// Takes ownership of a graph.
    ///
    /// # Safety
    ///
    /// It must be live, and no other code may destroy it.
    pub(super) unsafe fn from_raw(graph: sys::CUgraph) -> Self {
        Self(graph)
    }

    /// Adds an empty node after others.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn add_empty(&self, after: &[Node<'_>]) -> Outcome<Node<'_>> {
        let after: Vec<_> = after.iter().map(|node| node.raw).collect();
        let mut node = ptr::null_mut();
        let (first, count) = (after.as_ptr(), after.len());
        // SAFETY: the graph and the nodes are live (1); the array has that many entries.
        unsafe { call!(cuGraphAddEmptyNode(&raw mut node, self.0, first, count)) }?;
        Ok(self.node(node))
    }

    /// Adds an edge, which is programmatic or ordinary.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn add_edge(&self, from: Node<'_>, to: Node<'_>, programmatic: bool) -> Outcome<()> {
        let data = edge_data(programmatic);
        let (from, to, data) = (&raw const from.raw, &raw const to.raw, &raw const data);
        // SAFETY: the graph and the nodes are live (1); each array has one entry.
        unsafe { call!(cuGraphAddDependencies_v2(self.0, from, to, data, 1)) }
    }

    /// Removes such an edge.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn remove_edge(&self, from: Node<'_>, to: Node<'_>, programmatic: bool) -> Outcome<()> {
        let data = edge_data(programmatic);
        let (from, to, data) = (&raw const from.raw, &raw const to.raw, &raw const data);
        // SAFETY: as above.
        unsafe { call!(cuGraphRemoveDependencies_v2(self.0, from, to, data, 1)) }
    }

    /// Returns its nodes, in the driver's order.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn nodes(&self) -> Outcome<Vec<Node<'_>>> {
        let mut count = 0;
        // SAFETY: the graph is live (1); without an array the driver counts.
        unsafe { call!(cuGraphGetNodes(self.0, ptr::null_mut(), &raw mut count)) }?;
        let mut nodes = vec![ptr::null_mut(); count];
        // SAFETY: the graph is live (1); the array has `count` entries.
        unsafe { call!(cuGraphGetNodes(self.0, nodes.as_mut_ptr(), &raw mut count)) }?;
        nodes.truncate(count);
        Ok(nodes.into_iter().map(|node| self.node(node)).collect())
    }

    /// Returns its edges with their data, sorted.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn edges(&self) -> Outcome<Vec<Edge>> {
        let nodes = self.nodes()?;
        let mut count = 0;
        let null = ptr::null_mut();
        // SAFETY: the graph is live (1); without arrays the driver counts.
        unsafe { call!(cuGraphGetEdges_v2(self.0, null, null, ptr::null_mut(), &raw mut count)) }?;
        let plain = sys::CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
        let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
        let mut data = vec![plain; count];
        let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
        // SAFETY: the graph is live (1); each array has `count` entries.
        unsafe {
            call!(cuGraphGetEdges_v2(self.0, sources, targets, data.as_mut_ptr(), &raw mut count))
        }?;
        let index = |raw| nodes.iter().position(|node| node.raw == raw).unwrap_or(usize::MAX);
        let edge = |at: usize| Edge {
            from: index(from[at]),
            to: index(to[at]),
            from_port: data[at].from_port,
            to_port: data[at].to_port,
            kind: data[at].type_,
        };
        let mut edges: Vec<Edge> = (0..count).map(edge).collect();
        edges.sort();
        Ok(edges)
    }

    /// Returns the number of its edges, queried without their data.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code. It refuses if data would be lost.
    pub fn edges_without_data(&self) -> Outcome<usize> {
        let mut count = 64;
        let (mut from, mut to) = ([ptr::null_mut(); 64], [ptr::null_mut(); 64]);
        let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
        let none = ptr::null_mut();
        // SAFETY: the graph is live (1); both arrays have 64 entries, as the count states.
        unsafe { call!(cuGraphGetEdges_v2(self.0, sources, targets, none, &raw mut count)) }?;
        Ok(count)
    }

    /// Instantiates it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn instantiate(&self) -> Outcome<Exec> {
        self.instantiate_as(0)
    }

    /// Instantiates it so that memory left allocated by a launch is freed before the next.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn instantiate_auto_free(&self) -> Outcome<Exec> {
        use sys::CUgraphInstantiate_flags_enum as Flags;
        self.instantiate_as(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0.into())
    }

    fn instantiate_as(&self, flags: u64) -> Outcome<Exec> {
        let mut exec = ptr::null_mut();
        // SAFETY: the graph is live (1); the place outlives the call.
        unsafe { call!(cuGraphInstantiateWithFlags(&raw mut exec, self.0, flags)) }?;
        Ok(Exec(exec))
    }

    /// Destroys it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: the graph is live and this was its last use (1).
        unsafe { call!(cuGraphDestroy(self.0)) }
    }

    /// Returns a second handle of the same graph.
    ///
    /// # Safety
    ///
    /// Using one of them after the other was destroyed may crash the process. The caller must allow that.
    #[must_use]
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }

    pub(super) fn raw(&self) -> sys::CUgraph {
        self.0
    }

    pub(super) fn node(&self, raw: sys::CUgraphNode) -> Node<'_> {
        Node { raw, graph: PhantomData }
    }
}

impl Node<'_> {
    /// Returns the kind of the node.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn kind(&self) -> Outcome<Kind> {
        // It is read as a number: the driver may have more kinds than the enum.
        let mut kind = u32::MAX;
        // SAFETY: the node is live with its graph (1); the enum is `repr(u32)`, so a u32 has its
        // layout.
        unsafe { call!(cuGraphNodeGetType(self.raw, (&raw mut kind).cast())) }?;
        let known = [
            (RawKind::CU_GRAPH_NODE_TYPE_KERNEL, Kind::Kernel),
            (RawKind::CU_GRAPH_NODE_TYPE_MEMCPY, Kind::Copy),
            (RawKind::CU_GRAPH_NODE_TYPE_MEMSET, Kind::Fill),
            (RawKind::CU_GRAPH_NODE_TYPE_HOST, Kind::Host),
            (RawKind::CU_GRAPH_NODE_TYPE_GRAPH, Kind::Child),
            (RawKind::CU_GRAPH_NODE_TYPE_EMPTY, Kind::Empty),
            (RawKind::CU_GRAPH_NODE_TYPE_WAIT_EVENT, Kind::Wait),
            (RawKind::CU_GRAPH_NODE_TYPE_MEM_ALLOC, Kind::Allocate),
            (RawKind::CU_GRAPH_NODE_TYPE_MEM_FREE, Kind::Free),
        ];
        let found = known.iter().find(|(raw, _)| *raw as u32 == kind);
        Ok(found.map_or(Kind::Other(kind), |(_, name)| *name))
    }

    pub(super) fn raw(&self) -> sys::CUgraphNode {
        self.raw
    }
}

impl Exec {
    /// Launches it, after the stream's earlier work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn launch(&self, stream: &Stream) -> Outcome<()> {
        // SAFETY: both are live (1). Its nodes touch device memory, host buffers and gates (2, 3).
        unsafe { call!(cuGraphLaunch(self.0, stream.raw())) }
    }

    /// Takes the parameters of another graph's nodes.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn update<'g>(&self, graph: &'g Graph) -> (Outcome<()>, Update<'g>) {
        let mut told = Told { result: u32::MAX, node: ptr::null_mut(), from: ptr::null_mut() };
        let place = (&raw mut told).cast();
        // SAFETY: both are live (1); the place has the layout of the call's result, whose enum is
        // `repr(u32)`.
        let answer = unsafe { call!(cuGraphExecUpdate_v2(self.0, graph.raw(), place)) };
        let node = |raw: sys::CUgraphNode| (!raw.is_null()).then(|| graph.node(raw));
        (answer, Update { result: told.result, node: node(told.node), from: node(told.from) })
    }

    /// Destroys it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: it is live and this was its last use (1).
        unsafe { call!(cuGraphExecDestroy(self.0)) }
    }

    /// Returns a second handle of the same executable graph.
    ///
    /// # Safety
    ///
    /// Using one of them after the other was destroyed may crash the process. The caller must allow that.
    #[must_use]
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }
}
