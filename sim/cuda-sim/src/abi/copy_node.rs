//! Nodes that copy and nodes that call the host: added by hand, and read back.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys;
use sys::CUmemorytype_enum as Memory;

use super::foreign::{In, Out};
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
    let from = end(
        wanted.srcMemoryType,
        wanted.srcHost.expose_provenance() as u64,
        wanted.srcDevice,
        wanted.srcXInBytes,
    )?;
    let to = end(
        wanted.dstMemoryType,
        wanted.dstHost.expose_provenance() as u64,
        wanted.dstDevice,
        wanted.dstXInBytes,
    )?;
    Ok(Copy { to, from, bytes: wanted.WidthInBytes })
}

fn end(kind: Memory, host: u64, device: u64, offset: usize) -> Outcome<End> {
    match kind {
        Memory::CU_MEMORYTYPE_HOST => Ok(End::Host(host + offset as u64)),
        Memory::CU_MEMORYTYPE_DEVICE => Ok(End::Device(device + offset as u64)),
        _ => Err(crate::world::unmodelled("copies of arrays and of unified addresses")),
    }
}

fn copy_parameters(copy: &Copy) -> Outcome<sys::CUDA_MEMCPY3D> {
    let (source, from_host, from_device) = told(&copy.from)?;
    let (target, to_host, to_device) = told(&copy.to)?;
    Ok(sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: source,
        srcHost: from_host.cast_const(),
        srcDevice: from_device,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: copy.bytes,
        srcHeight: 1,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: target,
        dstHost: to_host,
        dstDevice: to_device,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: copy.bytes,
        dstHeight: 1,
        WidthInBytes: copy.bytes,
        Height: 1,
        Depth: 1,
    })
}

fn told(end: &End) -> Outcome<(Memory, *mut c_void, u64)> {
    match end {
        End::Device(address) => Ok((Memory::CU_MEMORYTYPE_DEVICE, ptr::null_mut(), *address)),
        End::Host(address) => {
            let address = usize::try_from(*address).map_err(|_| Code::INVALID_VALUE)?;
            let host = ptr::with_exposed_provenance_mut(address);
            Ok((Memory::CU_MEMORYTYPE_HOST, host, 0))
        }
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
        let work = Work::Host(HostCall { function, data });
        place.put(session.add_node(graph, &after.array(count)?, work)?)
    }

    fn cuGraphHostNodeGetParams(node: u64, place: Out<HostNode>) |session| {
        match session.work_of(node)? {
            Work::Host(call) => place.put(HostNode { function: call.function, data: call.data }),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}
