//! Declares driver functions and structures that differ between versions of CUDA. This module
//! declares each function and structure once, for one particular version of CUDA. In contrast,
//! cudarc's bindings declare the functions of the CUDA version selected by the application. The
//! declarations in this module do not depend on the selected version. One build therefore works
//! with every driver that provides these functions.

use std::ffi::{c_int, c_void};
use std::ptr;

use cudarc::driver::sys;

use crate::answer::answer;
use crate::capture_mode::with_relaxed_capture_mode;
use crate::entry_point::EntryPoint;
use crate::error::CudaError;
use crate::library;

/// The capture to which a stream belongs, and the stream's position in that capture.
#[derive(Clone, Copy, Debug)]
pub struct CaptureInfo {
    /// The capture's status: active, invalidated, or none.
    pub status: sys::CUstreamCaptureStatus,
    /// The ID that the driver assigned to the capture.
    pub id: u64,
    /// The nodes on which the stream's next operation depends, in an array owned by the driver. The
    /// array is valid until this stream is used in another call on any thread, or until the capture
    /// ends.
    pub nodes: *const sys::CUgraphNode,
    /// The number of nodes in this array.
    pub count: usize,
}

impl CaptureInfo {
    const NONE: Self = Self {
        status: sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
        id: 0,
        nodes: ptr::null(),
        count: 0,
    };
}

/// The data of a graph edge, called `CUgraphEdgeData` in CUDA.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EdgeData {
    from_port: u8,
    to_port: u8,
    /// The edge's kind. The kind is 0 if the source node must complete before the target node
    /// begins.
    pub kind: u8,
    reserved: [u8; 5],
}

type GetCaptureInfo = unsafe extern "C" fn(
    sys::CUstream,
    *mut sys::CUstreamCaptureStatus,
    *mut u64,
    *mut sys::CUgraph,
    *mut *const sys::CUgraphNode,
    *mut *const EdgeData,
    *mut usize,
) -> sys::CUresult;

type GetCaptureInfoWithoutData = unsafe extern "C" fn(
    sys::CUstream,
    *mut sys::CUstreamCaptureStatus,
    *mut u64,
    *mut sys::CUgraph,
    *mut *const sys::CUgraphNode,
    *mut usize,
) -> sys::CUresult;

type UpdateCaptureDependencies = unsafe extern "C" fn(
    sys::CUstream,
    *mut sys::CUgraphNode,
    *const EdgeData,
    usize,
    u32,
) -> sys::CUresult;

type GetEdges = unsafe extern "C" fn(
    sys::CUgraph,
    *mut sys::CUgraphNode,
    *mut sys::CUgraphNode,
    *mut EdgeData,
    *mut usize,
) -> sys::CUresult;

type EventElapsedTime = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

type CreateMemoryPool =
    unsafe extern "C" fn(*mut sys::CUmemoryPool, *const MemoryPoolProperties) -> sys::CUresult;

type SetPoolAccess =
    unsafe extern "C" fn(sys::CUmemoryPool, *const MemoryAccess, usize) -> sys::CUresult;

/// The first CUDA version in which a graph's edges have data.
pub const EDGE_DATA: u32 = 12_030;

// SAFETY: the type matches the signature of `cuStreamGetCaptureInfo_v3` in `cuda.h`.
static GET_CAPTURE_INFO: EntryPoint<GetCaptureInfo> =
    unsafe { EntryPoint::new(c"cuStreamGetCaptureInfo", EDGE_DATA) };

// SAFETY: the type matches the signature of `cuStreamGetCaptureInfo_v2` in `cuda.h`.
static GET_CAPTURE_INFO_WITHOUT_DATA: EntryPoint<GetCaptureInfoWithoutData> =
    unsafe { EntryPoint::new(c"cuStreamGetCaptureInfo", 12_000) };

// SAFETY: the type matches the signature of `cuStreamUpdateCaptureDependencies_v2` in `cuda.h`.
static UPDATE_CAPTURE_DEPENDENCIES: EntryPoint<UpdateCaptureDependencies> =
    unsafe { EntryPoint::new(c"cuStreamUpdateCaptureDependencies", EDGE_DATA) };

// SAFETY: the type matches the signature of `cuGraphGetEdges_v2` in `cuda.h`.
static GET_EDGES: EntryPoint<GetEdges> = unsafe { EntryPoint::new(c"cuGraphGetEdges", EDGE_DATA) };

// SAFETY: the type matches the signature of `cuEventElapsedTime` in `cuda.h`.
static EVENT_ELAPSED_TIME: EntryPoint<EventElapsedTime> =
    unsafe { EntryPoint::new(c"cuEventElapsedTime", 12_000) };

// SAFETY: the type matches the signature of `cuMemPoolCreate` in `cuda.h`. Newer versions of CUDA
// use some of the bytes that must be zero in older versions.
static CREATE_MEMORY_POOL: EntryPoint<CreateMemoryPool> =
    unsafe { EntryPoint::new(c"cuMemPoolCreate", 12_000) };

// SAFETY: the type matches the signature of `cuMemPoolSetAccess` in `cuda.h`.
static SET_POOL_ACCESS: EntryPoint<SetPoolAccess> =
    unsafe { EntryPoint::new(c"cuMemPoolSetAccess", 12_000) };

/// Queries which capture, if any, a stream belongs to.
///
/// If the captured graph's edges have data, the driver rejects a query that does not request this
/// data. This function requests the data from every driver that supports edge data, but never reads
/// it.
///
/// # Errors
///
/// Returns [`CudaError::Call`] if the driver cannot report the stream's capture status.
///
/// # Safety
///
/// The stream must be alive.
pub unsafe fn capture_info(stream: sys::CUstream) -> Result<CaptureInfo, CudaError> {
    let mut info = CaptureInfo::NONE;
    let (status, id) = (&raw mut info.status, &raw mut info.id);
    // The driver also writes the graph's handle, but this function does not read it.
    let mut graph = ptr::null_mut();
    let (graph, nodes, count) = (&raw mut graph, &raw mut info.nodes, &raw mut info.count);
    let asked = if library::version()? >= EDGE_DATA {
        let (call, mut data) = (GET_CAPTURE_INFO.function()?, ptr::null());
        // SAFETY: the caller guarantees that the stream is alive. Every output variable outlives
        // the call.
        unsafe { call(stream, status, id, graph, nodes, &raw mut data, count) }
    } else {
        let call = GET_CAPTURE_INFO_WITHOUT_DATA.function()?;
        // SAFETY: the caller guarantees that the stream is alive. Every output variable outlives
        // the call.
        unsafe { call(stream, status, id, graph, nodes, count) }
    };
    answer("cuStreamGetCaptureInfo", asked.result()).map(|()| info)
}

/// Returns `true` if an event that was created with timing enabled has been recorded at least once.
/// Most driver calls treat an event as completed if it was never recorded. Only
/// `cuEventElapsedTime` detects an event that was never recorded: "if `cuEventRecord()` has not
/// been called on either event, then `CUDA_ERROR_INVALID_HANDLE` is returned" (driver API,
/// `cuEventElapsedTime`).
///
/// # Errors
///
/// Returns [`CudaError::Call`] for any other driver error, because the event's state is then
/// unknown.
///
/// # Safety
///
/// The event must be alive and must have been created without `CU_EVENT_DISABLE_TIMING`.
pub unsafe fn is_recorded(event: sys::CUevent) -> Result<bool, CudaError> {
    let call = EVENT_ELAPSED_TIME.function()?;
    let mut milliseconds = 0.0;
    // SAFETY: the caller guarantees that the event is alive. The output variable outlives the call.
    let asked = with_relaxed_capture_mode(|| unsafe { call(&raw mut milliseconds, event, event) });
    match asked {
        sys::CUresult::CUDA_ERROR_INVALID_HANDLE => Ok(false),
        sys::CUresult::CUDA_ERROR_NOT_READY => Ok(true),
        _ => answer("cuEventElapsedTime", asked.result()).map(|()| true),
    }
}

/// Clears the dependencies of the next operation to be added to a captured stream.
///
/// # Errors
///
/// Returns [`CudaError::DriverTooOld`] if the driver's CUDA version is older than 12.3, or
/// [`CudaError::Call`] if the call fails.
///
/// # Safety
///
/// The stream must be alive.
pub unsafe fn set_behind_nothing(stream: sys::CUstream) -> Result<(), CudaError> {
    let call = UPDATE_CAPTURE_DEPENDENCIES.function()?;
    let set = sys::CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    // SAFETY: the caller guarantees that the stream is alive. The list of nodes is empty.
    let asked = unsafe { call(stream, ptr::null_mut(), ptr::null(), 0, set as u32) };
    answer("cuStreamUpdateCaptureDependencies", asked.result())
}

/// Writes up to `count` of a graph's edges to three arrays: the source nodes, the target nodes, and
/// the edge data. If the pointers are null, this function writes only the number of edges to
/// `count`.
///
/// # Errors
///
/// Returns [`CudaError::DriverTooOld`] if the driver's CUDA version is older than 12.3, or
/// [`CudaError::Call`] if the call fails.
///
/// # Safety
///
/// The graph must not be destroyed during the call. Each pointer must either be null or point to an
/// array of at least `count` entries.
pub unsafe fn graph_edges(
    graph: sys::CUgraph,
    from: *mut sys::CUgraphNode,
    to: *mut sys::CUgraphNode,
    data: *mut EdgeData,
    count: &mut usize,
) -> Result<(), CudaError> {
    let call = GET_EDGES.function()?;
    // SAFETY: the caller upholds the safety contract of the driver's function.
    answer("cuGraphGetEdges", unsafe { call(graph, from, to, data, count) }.result())
}

/// The properties of a memory pool, called `CUmemPoolProps` in CUDA. Newer versions of CUDA use
/// part of `reserved` for additional fields. Setting an additional field to 0 disables the
/// corresponding feature.
#[derive(Debug)]
#[repr(C)]
struct MemoryPoolProperties {
    allocation_type: u32,
    handle_types: u32,
    location_type: u32,
    location: c_int,
    security_attributes: *mut c_void,
    reserved: [u8; 64],
}

/// A description of a device's access to memory, called `CUmemAccessDesc` in CUDA.
#[derive(Debug)]
#[repr(C)]
struct MemoryAccess {
    location_type: u32,
    location: c_int,
    flags: u32,
}

/// Allows a device's kernels to read and write a memory pool.
///
/// # Safety
///
/// The memory pool must be alive.
pub unsafe fn open_memory_pool(
    pool: sys::CUmemoryPool,
    reader: sys::CUdevice,
) -> Result<(), CudaError> {
    let call = SET_POOL_ACCESS.function()?;
    let access = MemoryAccess {
        location_type: sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE as u32,
        location: reader,
        flags: sys::CUmemAccess_flags_enum::CU_MEM_ACCESS_FLAGS_PROT_READWRITE as u32,
    };
    // SAFETY: the caller guarantees that the memory pool is alive. The access description outlives
    // the call.
    answer("cuMemPoolSetAccess", unsafe { call(pool, &raw const access, 1) }.result())
}

/// Creates a memory pool of unlimited size on a device. The memory pool allocates its memory on
/// this device and cannot be shared with other processes.
pub(crate) fn create_memory_pool(device: sys::CUdevice) -> Result<sys::CUmemoryPool, CudaError> {
    let call = CREATE_MEMORY_POOL.function()?;
    let properties = MemoryPoolProperties {
        allocation_type: sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED as u32,
        handle_types: 0,
        location_type: sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE as u32,
        location: device,
        security_attributes: ptr::null_mut(),
        reserved: [0; 64],
    };
    let mut handle = ptr::null_mut();
    // SAFETY: the output variable and the properties outlive the call. The properties have the size
    // that CUDA requires.
    let created =
        with_relaxed_capture_mode(|| unsafe { call(&raw mut handle, &raw const properties) });
    answer("cuMemPoolCreate", created.result()).map(|()| handle)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use cudarc::driver::sys;

    use super::{EdgeData, MemoryAccess, MemoryPoolProperties};

    #[test]
    fn structures_are_laid_out_as_those_of_the_bindings() {
        assert_eq!(size_of::<MemoryPoolProperties>(), size_of::<sys::CUmemPoolProps>());
        assert_eq!(align_of::<MemoryPoolProperties>(), align_of::<sys::CUmemPoolProps>());
        let location = offset_of!(sys::CUmemPoolProps, location);
        assert_eq!(offset_of!(MemoryPoolProperties, location_type), location);
        let attributes = offset_of!(sys::CUmemPoolProps, win32SecurityAttributes);
        assert_eq!(offset_of!(MemoryPoolProperties, security_attributes), attributes);
        let flags = offset_of!(sys::CUmemAccessDesc, flags);
        assert_eq!(size_of::<MemoryAccess>(), size_of::<sys::CUmemAccessDesc>());
        assert_eq!(offset_of!(MemoryAccess, flags), flags);
        assert_eq!((size_of::<EdgeData>(), offset_of!(EdgeData, kind)), (8, 2));
    }
}
