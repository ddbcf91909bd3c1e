//! Graph nodes that copy memory or call a host function: adding them explicitly, and reading them
//! back.

use super::copy_rows::copy_of_planes;
use super::foreign::{In, Out};
use super::node::check_context;
use super::sys::{self, MEMORY_OF_DEVICE, MEMORY_OF_HOST};
use crate::code::{Code, Outcome};
use crate::world::{Copy, Corner, End, HostCall, Volume, Work};

/// `CUDA_HOST_NODE_PARAMS`, with pointers represented as numbers.
#[derive(Clone, Copy)]
#[repr(C)]
struct HostNode {
    function: u64,
    data: u64,
}

fn copy_parameters(copy: &Copy) -> Outcome<sys::CUDA_MEMCPY3D> {
    let (source, from_host, from_device) = told(&copy.from)?;
    let (target, to_host, to_device) = told(&copy.to)?;
    let packed = Corner::packed(copy.bytes, 1);
    let row = Volume { height: 1, depth: 1, to: packed, from: packed };
    let Volume { height, depth, to, from } = copy.volume.as_deref().copied().unwrap_or(row);
    Ok(sys::CUDA_MEMCPY3D {
        srcXInBytes: from.x,
        srcY: from.y,
        srcZ: from.z,
        srcMemoryType: source,
        srcHost: from_host,
        srcDevice: from_device,
        srcPitch: from.pitch,
        srcHeight: from.height,
        dstXInBytes: to.x,
        dstY: to.y,
        dstZ: to.z,
        dstMemoryType: target,
        dstHost: to_host,
        dstDevice: to_device,
        dstPitch: to.pitch,
        dstHeight: to.height,
        WidthInBytes: copy.bytes,
        Height: height,
        Depth: depth,
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
        context: u64,
    ) |session| {
        check_context(session, context)?;
        let copy = session.with_ends_known(copy_of_planes(&wanted.get()?)?);
        let work = Work::Copy(copy);
        place.put(session.add_node(graph, &after.array(count)?, work)?)
    }

    fn cuGraphMemcpyNodeGetParams(node: u64, place: Out<sys::CUDA_MEMCPY3D>) |session| {
        place.put(copy_parameters(&session.copy_of(node)?)?)
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
