//! Calls for whole graphs: creating, reading, instantiating and launching them.

use super::foreign::{In, Out};
use super::session::Session;
use super::sys;
use crate::code::{Code, Outcome};
use crate::world::EdgeData;

pub(super) fn edge_data(data: EdgeData) -> sys::CUgraphEdgeData {
    sys::CUgraphEdgeData {
        from_port: data.from_port,
        to_port: data.to_port,
        type_: data.kind,
        reserved: [0; 5],
    }
}

/// Returns the number of entries of the caller's arrays. Arrays without entries are refused.
fn capacity(count: Out<usize>) -> Outcome<usize> {
    let capacity = count.get()?;
    if capacity == 0 { Err(Code::INVALID_VALUE) } else { Ok(capacity) }
}

/// Writes edges up to the caller's capacity, fills the rest with zeros, and writes the actual
/// number of edges. If the caller passed no arrays, only the number is written.
fn put_edges(
    edges: &[(u64, u64, EdgeData)],
    (from, to, data): (Out<u64>, Out<u64>, Out<sys::CUgraphEdgeData>),
    count: Out<usize>,
) -> Outcome<()> {
    if from.is_null() && to.is_null() && data.is_null() {
        return count.put(edges.len());
    }
    if data.is_null() && edges.iter().any(|(_, _, data)| !data.is_plain()) {
        return Err(Code::LOSSY_QUERY);
    }
    let capacity = capacity(count)?;
    for index in 0..capacity {
        let edge = edges.get(index).copied();
        let (first, second, with) = edge.unwrap_or_default();
        if !from.is_null() {
            from.put_at(index, first)?;
        }
        if !to.is_null() {
            to.put_at(index, second)?;
        }
        if !data.is_null() {
            data.put_at(index, edge_data(with))?;
        }
    }
    count.put(edges.len().min(capacity))
}

pub(super) fn put_nodes(nodes: &[u64], place: Out<u64>, count: Out<usize>) -> Outcome<()> {
    if place.is_null() {
        return count.put(nodes.len());
    }
    let capacity = capacity(count)?;
    for index in 0..capacity {
        place.put_at(index, nodes.get(index).copied().unwrap_or_default())?;
    }
    count.put(nodes.len().min(capacity))
}

fn change_edges(
    session: &mut Session,
    graph: u64,
    (from, to): (In<u64>, In<u64>),
    data: In<sys::CUgraphEdgeData>,
    count: usize,
    add: bool,
) -> Outcome<()> {
    let (from, to) = (from.array(count)?, to.array(count)?);
    let data = if data.is_null() { Vec::new() } else { data.array(count)? };
    let edge = |index: usize| {
        let data = data.get(index).map_or_else(EdgeData::default, |data| EdgeData {
            from_port: data.from_port,
            to_port: data.to_port,
            kind: data.type_,
        });
        (from[index], to[index], data)
    };
    let edges: Vec<_> = (0..count).map(edge).collect();
    session.change_edges(graph, &edges, add)
}

driver_calls! {
    fn cuGraphCreate(place: Out<u64>, flags: u32) |session| {
        if flags != 0 || place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        place.put(session.create_graph()?)
    }

    fn cuGraphDestroy(graph: u64) |session| { session.destroy_graph(graph) }

    fn cuGraphGetNodes(graph: u64, place: Out<u64>, count: Out<usize>) |session| {
        put_nodes(&session.node_handles(graph)?, place, count)
    }

    fn cuGraphGetEdges_v2(
        graph: u64,
        from: Out<u64>,
        to: Out<u64>,
        data: Out<sys::CUgraphEdgeData>,
        count: Out<usize>,
    ) |session| {
        put_edges(&session.edge_handles(graph)?, (from, to, data), count)
    }

    fn cuGraphAddDependencies_v2(
        graph: u64,
        from: In<u64>,
        to: In<u64>,
        data: In<sys::CUgraphEdgeData>,
        count: usize,
    ) |session| { change_edges(session, graph, (from, to), data, count, true) }

    fn cuGraphRemoveDependencies_v2(
        graph: u64,
        from: In<u64>,
        to: In<u64>,
        data: In<sys::CUgraphEdgeData>,
        count: usize,
    ) |session| { change_edges(session, graph, (from, to), data, count, false) }

    fn cuGraphInstantiateWithFlags(place: Out<u64>, graph: u64, flags: u64) |session| {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let thread = session.thread;
        place.put(session.instantiate(thread, graph, flags)?)
    }

    fn cuGraphExecGetFlags(exec: u64, place: Out<u64>) |session| {
        place.put(session.exec_flags(exec)?)
    }

    fn cuGraphExecDestroy(exec: u64) |session| { session.destroy_exec(exec) }

    fn cuGraphExecUpdate_v2(
        exec: u64,
        graph: u64,
        place: Out<[u64; 3]>,
    ) |session| {
        let updated = session.update_exec(exec, graph)?;
        // The result is the first field of `CUgraphExecUpdateResultInfo`, and the nodes follow.
        let told = match &updated {
            Ok(()) => [0; 3],
            Err(refused) => [u64::from(refused.result), refused.node, refused.from],
        };
        place.put(told)?;
        updated.map_err(|_| Code::EXEC_UPDATE_FAILURE)
    }

    fn cuGraphLaunch(exec: u64, stream: u64) |session| {
        let thread = session.thread;
        session.launch(thread, exec, stream)?;
        let device = session.device_of_stream(thread, stream)?;
        session.concerns(device);
        Ok(())
    }

    fn cuGraphUpload(exec: u64, stream: u64) |session| {
        let thread = session.thread;
        session.upload(thread, exec, stream)
    }

    fn cuDeviceGraphMemTrim(device: i32) |session| { session.trim_graph_memory(device) }

    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: u32, place: Out<u64>) |session| {
        place.put(session.graph_memory_attribute(device, attribute)?)
    }
}
