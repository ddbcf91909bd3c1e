//! Graphs, their contents and their launches.

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

/// The kind of a node. `Other` contains the number of a kind that is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Launches a kernel.
    Kernel,
    /// Copies memory.
    Copy,
    /// Fills memory.
    Fill,
    /// Calls a host function.
    Host,
    /// Runs a child graph.
    Child,
    /// Does nothing.
    Empty,
    /// Waits for an external event.
    Wait,
    /// Allocates memory.
    Allocate,
    /// Frees memory.
    Free,
    /// Performs another operation.
    Other(u32),
}

/// The driver's result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update<'g> {
    /// `CUgraphExecUpdateResult`.
    pub result: u32,
    /// The node that caused the result, or the later node of the edge.
    pub node: Option<Node<'g>>,
    /// The earlier node of the edge.
    pub from: Option<Node<'g>>,
}

/// `CUgraphExecUpdateResultInfo`, with the result as a number, because the driver may return values
/// that the enum lacks.
#[repr(C)]
struct Told {
    result: u32,
    node: sys::CUgraphNode,
    from: sys::CUgraphNode,
}

/// An edge. Its ends are indices into [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The node that comes first.
    pub from: usize,
    /// The node that comes after.
    pub to: usize,
    /// The event of the first node to wait for: 0 is its end, 1 its trigger, 2 its start.
    pub from_port: u8,
    /// The part of the second node that waits. 0 means the whole node.
    pub to_port: u8,
    /// The kind of edge: 0 is ordinary, 1 is programmatic.
    pub kind: u8,
}

/// Returns the edge data for a dependency on a kernel's trigger, or on its end.
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
        // SAFETY: the output variable outlives the call.
        // The flags are 0, as required.
        unsafe { call!(cuGraphCreate(&raw mut graph, 0)) }?;
        Ok(Self(graph))
    }

    /// Takes ownership of a graph.
    ///
    /// # Safety
    ///
    /// The graph must be live, and no other code may destroy it.
    pub(super) unsafe fn from_raw(graph: sys::CUgraph) -> Self {
        Self(graph)
    }

    /// Adds an empty node that depends on other nodes.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn add_empty(&self, after: &[Node<'_>]) -> Outcome<Node<'_>> {
        let after: Vec<_> = after.iter().map(|node| node.raw).collect();
        let mut node = ptr::null_mut();
        let (first, count) = (after.as_ptr(), after.len());
        // SAFETY: the graph and the nodes are live (1).
        // The array has the stated number of entries.
        unsafe { call!(cuGraphAddEmptyNode(&raw mut node, self.0, first, count)) }?;
        Ok(self.node(node))
    }

    /// Adds an edge, which is either programmatic or ordinary.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn add_edge(&self, from: Node<'_>, to: Node<'_>, programmatic: bool) -> Outcome<()> {
        let data = edge_data(programmatic);
        let (from, to, data) = (&raw const from.raw, &raw const to.raw, &raw const data);
        // SAFETY: the graph and the nodes are live (1).
        // Each array has one entry.
        unsafe { call!(cuGraphAddDependencies_v2(self.0, from, to, data, 1)) }
    }

    /// Removes an edge, which is either programmatic or ordinary.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn remove_edge(&self, from: Node<'_>, to: Node<'_>, programmatic: bool) -> Outcome<()> {
        let data = edge_data(programmatic);
        let (from, to, data) = (&raw const from.raw, &raw const to.raw, &raw const data);
        // SAFETY: the graph and the nodes are live (1).
        // Each array has one entry.
        unsafe { call!(cuGraphRemoveDependencies_v2(self.0, from, to, data, 1)) }
    }

    /// Asks for the nodes and the edges of the graph with arrays that have no entries.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn read_no_entries(&self) -> [Outcome<()>; 2] {
        let (mut count, mut node, mut other) = (0, ptr::null_mut(), ptr::null_mut());
        let mut data = edge_data(false);
        // SAFETY: the graph is live (1).
        // The array has more entries than the count states.
        let nodes = unsafe { call!(cuGraphGetNodes(self.0, &raw mut node, &raw mut count)) };
        count = 0;
        let (from, to, data) = (&raw mut node, &raw mut other, &raw mut data);
        // SAFETY: the graph is live (1).
        // The arrays have more entries than the count states.
        let edges = unsafe { call!(cuGraphGetEdges_v2(self.0, from, to, data, &raw mut count)) };
        [nodes, edges]
    }

    /// Returns the nodes of the graph, in the driver's order.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn nodes(&self) -> Outcome<Vec<Node<'_>>> {
        let mut count = 0;
        // SAFETY: the graph is live (1).
        // If there is no array, the driver only writes the count.
        unsafe { call!(cuGraphGetNodes(self.0, ptr::null_mut(), &raw mut count)) }?;
        // The driver refuses an array without entries.
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut nodes = vec![ptr::null_mut(); count];
        // SAFETY: the graph is live (1).
        // The array has `count` entries.
        unsafe { call!(cuGraphGetNodes(self.0, nodes.as_mut_ptr(), &raw mut count)) }?;
        nodes.truncate(count);
        Ok(nodes.into_iter().map(|node| self.node(node)).collect())
    }

    /// Returns the edges of the graph with their data, sorted.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn edges(&self) -> Outcome<Vec<Edge>> {
        let nodes = self.nodes()?;
        let mut count = 0;
        let null = ptr::null_mut();
        // SAFETY: the graph is live (1).
        // If there are no arrays, the driver only writes the count.
        unsafe { call!(cuGraphGetEdges_v2(self.0, null, null, ptr::null_mut(), &raw mut count)) }?;
        // The driver refuses arrays without entries.
        if count == 0 {
            return Ok(Vec::new());
        }
        let plain = sys::CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
        let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
        let mut data = vec![plain; count];
        let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
        // SAFETY: the graph is live (1).
        // Each array has `count` entries.
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

    /// Returns the number of edges, using the query that omits their data.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code. The driver refuses the query if data would be lost.
    pub fn edges_without_data(&self) -> Outcome<usize> {
        let mut count = 64;
        let (mut from, mut to) = ([ptr::null_mut(); 64], [ptr::null_mut(); 64]);
        let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
        let none = ptr::null_mut();
        // SAFETY: the graph is live (1).
        // Both arrays have 64 entries, as the count states.
        unsafe { call!(cuGraphGetEdges_v2(self.0, sources, targets, none, &raw mut count)) }?;
        Ok(count)
    }

    /// Instantiates the graph.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn instantiate(&self) -> Outcome<Exec> {
        self.instantiate_as(0)
    }

    /// Instantiates the graph so that memory left allocated by one launch is freed before the next
    /// launch.
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
        // SAFETY: the graph is live (1).
        // The output variable outlives the call.
        unsafe { call!(cuGraphInstantiateWithFlags(&raw mut exec, self.0, flags)) }?;
        Ok(Exec(exec))
    }

    /// Destroys the graph.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: the graph is live, and this is its last use (1).
        unsafe { call!(cuGraphDestroy(self.0)) }
    }

    /// Returns a second handle for the same graph.
    ///
    /// # Safety
    ///
    /// If one handle has been destroyed, using the other may crash the process. The caller must
    /// accept this.
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
        // The kind is read as a number, because the driver may return values that the enum lacks.
        let mut kind = u32::MAX;
        // SAFETY: the node and its graph are live (1).
        // The enum is `repr(u32)`, so a `u32` has its layout.
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
    /// Launches the graph after the stream's earlier work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn launch(&self, stream: &Stream) -> Outcome<()> {
        // SAFETY: the executable graph and the stream are live (1).
        // The nodes only access device memory, host buffers and gates (2, 3).
        unsafe { call!(cuGraphLaunch(self.0, stream.raw())) }
    }

    /// Uploads what a launch of the graph needs, after the stream's earlier work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn upload(&self, stream: &Stream) -> Outcome<()> {
        // SAFETY: the executable graph and the stream are live (1).
        unsafe { call!(cuGraphUpload(self.0, stream.raw())) }
    }

    /// Replaces the parameters with those of another graph's nodes.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn update<'g>(&self, graph: &'g Graph) -> (Outcome<()>, Update<'g>) {
        let mut told = Told { result: u32::MAX, node: ptr::null_mut(), from: ptr::null_mut() };
        let place = (&raw mut told).cast();
        // SAFETY: the executable graph and the graph are live (1).
        // The output has the layout of the call's result, whose enum is `repr(u32)`.
        let answer = unsafe { call!(cuGraphExecUpdate_v2(self.0, graph.raw(), place)) };
        let node = |raw: sys::CUgraphNode| (!raw.is_null()).then(|| graph.node(raw));
        (answer, Update { result: told.result, node: node(told.node), from: node(told.from) })
    }

    /// Destroys the executable graph.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn destroy(self) -> Outcome<()> {
        // SAFETY: the executable graph is live, and this is its last use (1).
        unsafe { call!(cuGraphExecDestroy(self.0)) }
    }

    /// Returns a second handle for the same executable graph.
    ///
    /// # Safety
    ///
    /// If one handle has been destroyed, using the other may crash the process. The caller must
    /// accept this.
    #[must_use]
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }
}
