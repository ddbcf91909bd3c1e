//! Graph nodes: adding them explicitly and reading them back.

use super::foreign::{In, Out};
use super::graph::{edge_data, put_nodes};
use super::pool::Properties;
use super::session::Session;
use super::sys;
use crate::code::{Code, Outcome};
use crate::world::{Choice, Fill, NodeKind, Ownership, Work};

fn fill(parameters: &sys::CUDA_MEMSET_NODE_PARAMS) -> Outcome<Fill> {
    Ok(Fill {
        address: parameters.dst,
        pitch: parameters.pitch,
        value: parameters.value,
        element: usize::try_from(parameters.elementSize).map_err(|_| Code::INVALID_VALUE)?,
        width: parameters.width,
        height: parameters.height,
    })
}

fn fill_parameters(fill: Fill) -> Outcome<sys::CUDA_MEMSET_NODE_PARAMS> {
    Ok(sys::CUDA_MEMSET_NODE_PARAMS {
        dst: fill.address,
        pitch: fill.pitch,
        value: fill.value,
        elementSize: u32::try_from(fill.element).map_err(|_| Code::INVALID_VALUE)?,
        width: fill.width,
        height: fill.height,
    })
}

/// Checks the context passed for a node. Only a context on the graph's device is allowed.
pub(super) fn check_context(session: &Session, context: u64) -> Outcome<()> {
    if context == 0 {
        return Ok(());
    }
    session.context(context).map(drop)
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct AllocationNode {
    properties: Properties,
    accesses: usize,
    access_count: usize,
    bytes: usize,
    address: u64,
}

/// `CUgraphNodeParams` of a conditional node, up to the end of that variant. Enumerations are
/// represented as numbers, because a caller may pass values that the enums of the bindings do not
/// contain.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct ConditionalNode {
    kind: u32,
    reserved: [i32; 3],
    condition: u64,
    choice: u32,
    bodies: u32,
    shown: u64,
    context: u64,
}

/// `CUgraphNodeParams` of a node with a child graph, up to the end of that variant.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct ChildNode {
    kind: u32,
    reserved: [i32; 3],
    child: u64,
    ownership: u32,
}

/// Adds a node whose kind is given in its parameters.
fn add_node(
    session: &mut Session,
    graph: u64,
    after: &[u64],
    parameters: Out<ConditionalNode>,
) -> Outcome<u64> {
    const CHILD: u32 = NodeKind::Child as u32;
    const CONDITIONAL: u32 = NodeKind::Conditional as u32;
    const SIGNAL: u32 = NodeKind::ExternalSignal as u32;
    const WAIT: u32 = NodeKind::ExternalWait as u32;
    const BATCH: u32 = NodeKind::BatchOperations as u32;
    // Other kinds of nodes have fewer parameters, so the rest is only read once the kind is known.
    match parameters.of::<u32>().get()? {
        CHILD => {
            let ChildNode { child, ownership, .. } = parameters.of::<ChildNode>().get()?;
            let ownership = match ownership {
                0 => Ownership::Copied,
                1 => Ownership::Moved,
                _ => return Err(Code::INVALID_VALUE),
            };
            session.add_child(graph, after, child, ownership)
        }
        CONDITIONAL => {
            let asked = parameters.get()?;
            let ConditionalNode { condition, choice, bodies, .. } = asked;
            let choice = Choice { condition, kind: choice, bodies };
            let (node, shown) = session.add_conditional(graph, after, choice)?;
            parameters.put(ConditionalNode { shown, ..asked })?;
            Ok(node)
        }
        SIGNAL => session.add_node(graph, after, Work::Opaque(NodeKind::ExternalSignal)),
        WAIT => session.add_node(graph, after, Work::Opaque(NodeKind::ExternalWait)),
        BATCH => session.add_node(graph, after, Work::Opaque(NodeKind::BatchOperations)),
        _ => Err(crate::code::unmodelled("cuGraphAddNode for nodes of this kind")),
    }
}

driver_calls! {
    fn cuGraphAddEmptyNode(place: Out<u64>, graph: u64, after: In<u64>, count: usize) |session| {
        place.put(session.add_node(graph, &after.array(count)?, Work::Empty)?)
    }

    fn cuGraphAddMemsetNode(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        parameters: In<sys::CUDA_MEMSET_NODE_PARAMS>,
        context: u64,
    ) |session| {
        check_context(session, context)?;
        let work = Work::Fill(fill(&parameters.get()?)?);
        place.put(session.add_node(graph, &after.array(count)?, work)?)
    }

    fn cuGraphConditionalHandleCreate(
        place: Out<u64>,
        graph: u64,
        context: u64,
        _first_value: u32,
        flags: u32,
    ) |session| {
        check_context(session, context)?;
        // `CU_GRAPH_COND_ASSIGN_DEFAULT`.
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.create_condition(graph)?)
    }

    fn cuGraphAddNode(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        parameters: Out<ConditionalNode>,
    ) |session| {
        place.put(add_node(session, graph, &after.array(count)?, parameters)?)
    }

    fn cuGraphAddNode_v2(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        data: In<sys::CUgraphEdgeData>,
        count: usize,
        parameters: Out<ConditionalNode>,
    ) |session| {
        let is_plain = |data: &sys::CUgraphEdgeData| {
            (data.from_port, data.to_port, data.type_) == (0, 0, 0)
        };
        if !data.is_null() && !data.array(count)?.iter().all(is_plain) {
            return Err(crate::code::unmodelled("edges of such a node that are not full"));
        }
        place.put(add_node(session, graph, &after.array(count)?, parameters)?)
    }

    fn cuGraphAddChildGraphNode(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        child: u64,
    ) |session| {
        place.put(session.add_child(graph, &after.array(count)?, child, Ownership::Copied)?)
    }

    fn cuGraphChildGraphNodeGetGraph(node: u64, place: Out<u64>) |session| {
        place.put(session.child_of(node)?)
    }

    fn cuGraphAddMemAllocNode(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        parameters: Out<AllocationNode>,
    ) |session| {
        let mut wanted = parameters.get()?;
        let after = after.array(count)?;
        let device = wanted.properties.device()?;
        if wanted.access_count != 0 {
            return Err(crate::code::unmodelled("memory of a graph that other devices may use"));
        }
        let (node, address) = session.add_allocation(graph, &after, wanted.bytes, device)?;
        wanted.address = address;
        parameters.put(wanted)?;
        place.put(node)
    }

    fn cuGraphAddMemFreeNode(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        address: u64,
    ) |session| { place.put(session.add_free(graph, &after.array(count)?, address)?) }

    fn cuGraphDestroyNode(node: u64) |session| { session.destroy_node(node) }

    fn cuGraphNodeGetType(node: u64, place: Out<u32>) |session| {
        place.put(session.work_of(node)?.kind() as u32)
    }

    fn cuGraphMemsetNodeGetParams(
        node: u64,
        place: Out<sys::CUDA_MEMSET_NODE_PARAMS>,
    ) |session| {
        match session.work_of(node)? {
            Work::Fill(fill) => place.put(fill_parameters(*fill)?),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphMemAllocNodeGetParams(
        node: u64,
        place: Out<AllocationNode>,
    ) |session| {
        let Work::Allocate { address, bytes, device } = *session.work_of(node)? else {
            return Err(Code::INVALID_VALUE);
        };
        let id = i32::try_from(device).map_err(|_| Code::UNKNOWN)?;
        place.put(AllocationNode {
            properties: Properties::of_device(id),
            accesses: 0,
            access_count: 0,
            bytes,
            address,
        })
    }

    fn cuGraphMemFreeNodeGetParams(node: u64, place: Out<u64>) |session| {
        match session.work_of(node)? {
            Work::Free { address } => place.put(*address),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphNodeGetDependencies_v2(
        node: u64,
        place: Out<u64>,
        data: Out<sys::CUgraphEdgeData>,
        count: Out<usize>,
    ) |session| {
        let before = session.dependencies_of(node)?;
        if data.is_null() && before.iter().any(|(_, data)| !data.is_plain()) {
            return Err(Code::LOSSY_QUERY);
        }
        let capacity = if data.is_null() { 0 } else { count.get()? };
        for (index, (_, edge)) in before.iter().enumerate().take(capacity) {
            data.put_at(index, edge_data(*edge))?;
        }
        let nodes: Vec<u64> = before.iter().map(|(node, _)| *node).collect();
        put_nodes(&nodes, place, count)
    }
}
