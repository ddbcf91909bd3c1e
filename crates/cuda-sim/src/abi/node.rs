//! Nodes: adding them by hand and reading them back.

use cudarc::driver::sys;

use super::foreign::{In, Out};
use super::graph::put_nodes;
use crate::world::{Code, Fill, HostCall, Outcome, Work};

/// `CUDA_HOST_NODE_PARAMS`, its pointers as numbers.
#[derive(Clone, Copy)]
#[repr(C)]
struct HostNode {
    function: u64,
    data: u64,
}

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
        _context: u64,
    ) |session| {
        let work = Work::Fill(fill(&parameters.get()?)?);
        place.put(session.add_node(graph, &after.array(count)?, work)?)
    }

    fn cuGraphAddHostNode(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        parameters: In<HostNode>,
    ) |session| {
        let HostNode { function, data } = parameters.get()?;
        if function == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let work = Work::Host(HostCall { function, data });
        place.put(session.add_node(graph, &after.array(count)?, work)?)
    }

    fn cuGraphAddMemAllocNode(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        parameters: Out<sys::CUDA_MEM_ALLOC_NODE_PARAMS>,
    ) |session| {
        let mut wanted = parameters.get()?;
        let after = after.array(count)?;
        let device = wanted.poolProps.location.id;
        let (node, address) = session.add_allocation(graph, &after, wanted.bytesize, device)?;
        wanted.dptr = address;
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
        place.put(session.node_kind(node)? as u32)
    }

    fn cuGraphMemsetNodeGetParams(
        node: u64,
        place: Out<sys::CUDA_MEMSET_NODE_PARAMS>,
    ) |session| { place.put(fill_parameters(session.fill_of(node)?)?) }

    fn cuGraphMemAllocNodeGetParams(
        node: u64,
        place: Out<sys::CUDA_MEM_ALLOC_NODE_PARAMS>,
    ) |session| {
        let (address, bytes, device) = session.allocation_of(node)?;
        let id = i32::try_from(device).map_err(|_| Code::UNKNOWN)?;
        place.put(sys::CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: super::pool::properties(id),
            accessDescs: std::ptr::null(),
            accessDescCount: 0,
            bytesize: bytes,
            dptr: address,
        })
    }

    fn cuGraphMemFreeNodeGetParams(node: u64, place: Out<u64>) |session| {
        place.put(session.freed_by(node)?)
    }

    fn cuGraphNodeGetDependencies_v2(
        node: u64,
        place: Out<u64>,
        data: Out<u64>,
        count: Out<usize>,
    ) |session| {
        let before = session.dependencies_of(node)?;
        // Plain edges, all of them: eight bytes of zeros each.
        for index in 0..if data.is_null() { 0 } else { count.get()?.min(before.len()) } {
            data.put_at(index, 0)?;
        }
        put_nodes(&before, place, count)
    }
}
