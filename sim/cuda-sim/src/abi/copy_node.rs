//! Nodes that copy and nodes that call the host: added by hand, and read back.

use super::foreign::{In, Out};
use super::sys::{self, MEMORY_OF_DEVICE, MEMORY_OF_HOST};
use crate::world::{Code, Copy, End, HostCall, Outcome, Work};

/// `CUDA_HOST_NODE_PARAMS`, its pointers as numbers.
#[derive(Clone, Copy)]
#[repr(C)]
struct HostNode {
    function: u64,
    data: u64,
}

/// A copy of one row; arrays, and copies of several rows, are not modelled.
fn copy(wanted: &sys::CUDA_MEMCPY3D) -> Outcome<Copy> {
    let starts = [wanted.srcY, wanted.srcZ, wanted.dstY, wanted.dstZ];
    if starts != [0; 4] || wanted.Height > 1 || wanted.Depth > 1 {
        return Err(crate::world::unmodelled("copies of several rows"));
    }
    let (source, target) = (wanted.srcMemoryType, wanted.dstMemoryType);
    let from = end(source, wanted.srcHost, wanted.srcDevice, wanted.srcXInBytes)?;
    let to = end(target, wanted.dstHost, wanted.dstDevice, wanted.dstXInBytes)?;
    Ok(Copy { to, from, bytes: wanted.WidthInBytes })
}

fn end(kind: u32, host: u64, device: u64, offset: usize) -> Outcome<End> {
    match kind {
        MEMORY_OF_HOST => Ok(End::Host(host + offset as u64)),
        MEMORY_OF_DEVICE => Ok(End::Device(device + offset as u64)),
        _ => Err(crate::world::unmodelled("copies of arrays and of unified addresses")),
    }
}

fn copy_parameters(copy: &Copy) -> Outcome<sys::CUDA_MEMCPY3D> {
    let (source, from_host, from_device) = told(&copy.from)?;
    let (target, to_host, to_device) = told(&copy.to)?;
    Ok(sys::CUDA_MEMCPY3D {
        srcMemoryType: source,
        srcHost: from_host,
        srcDevice: from_device,
        srcPitch: copy.bytes,
        srcHeight: 1,
        dstMemoryType: target,
        dstHost: to_host,
        dstDevice: to_device,
        dstPitch: copy.bytes,
        dstHeight: 1,
        WidthInBytes: copy.bytes,
        Height: 1,
        Depth: 1,
        ..sys::CUDA_MEMCPY3D::default()
    })
}

fn told(end: &End) -> Outcome<(u32, u64, u64)> {
    match end {
        End::Device(address) => Ok((MEMORY_OF_DEVICE, 0, *address)),
        End::Host(address) => Ok((MEMORY_OF_HOST, *address, 0)),
        End::Staged(_) => Err(Code::INVALID_VALUE),
    }
}

driver_calls! {
    fn cuGraphAddMemcpyNode(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        wanted: In<sys::CUDA_MEMCPY3D>,
        _context: u64,
    ) |session| {
        let work = Work::Copy(copy(&wanted.get()?)?);
        place.put(session.add_node(graph, &after.array(count)?, work)?)
    }

    fn cuGraphMemcpyNodeGetParams(node: u64, place: Out<sys::CUDA_MEMCPY3D>) |session| {
        match session.work_of(node)? {
            Work::Copy(copy) => place.put(copy_parameters(copy)?),
            _ => Err(Code::INVALID_VALUE),
        }
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
        let work = Work::Host(HostCall::of(function, data));
        place.put(session.add_node(graph, &after.array(count)?, work)?)
    }

    fn cuGraphHostNodeGetParams(node: u64, place: Out<HostNode>) |session| {
        match session.work_of(node)? {
            Work::Host(call) => place.put(HostNode { function: call.function, data: call.data }),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}
