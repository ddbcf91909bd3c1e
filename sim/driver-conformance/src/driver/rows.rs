//! Copies and fills of several rows on a stream, and queries of copy nodes and fill nodes.

use std::mem::MaybeUninit;
use std::ptr;

use cudarc::driver::sys;

use super::graph::Node;
use super::memory::Span;
use super::refusal::Outcome;
use super::stream::Stream;

/// A box of rows in a span, in the terms of `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowBox {
    /// The memory that contains the box.
    pub span: Span,
    /// The position at which the box begins: bytes, rows, planes.
    pub begin: [usize; 3],
    /// The distance between two rows in bytes.
    pub pitch: usize,
    /// The distance between two planes in rows.
    pub height: usize,
}

impl RowBox {
    /// Returns the number of bytes from the beginning of the span to the end of a box of this size,
    /// or `None` if the number overflows.
    fn end(&self, [bytes, rows, planes]: [usize; 3]) -> Option<usize> {
        let [x, y, z] = self.begin;
        let plane = z.checked_add(planes.saturating_sub(1))?;
        let row = y.checked_add(rows.saturating_sub(1))?;
        let row = plane.checked_mul(self.height)?.checked_add(row)?;
        row.checked_mul(self.pitch)?.checked_add(x)?.checked_add(bytes)
    }

    /// Returns the address of the first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        let [x, y, z] = self.begin;
        self.span.address() + ((z * self.height + y) * self.pitch + x) as u64
    }
}

/// Returns the parameters of a copy within the device.
fn parameters(to: RowBox, from: RowBox, size: [usize; 3]) -> sys::CUDA_MEMCPY3D {
    for rows in [to, from] {
        let end = rows.end(size);
        assert!(end.is_some_and(|end| end <= rows.span.bytes()), "{size:?} in {rows:?}");
    }
    let device = sys::CUmemorytype_enum::CU_MEMORYTYPE_DEVICE;
    sys::CUDA_MEMCPY3D {
        srcXInBytes: from.begin[0],
        srcY: from.begin[1],
        srcZ: from.begin[2],
        srcLOD: 0,
        srcMemoryType: device,
        srcHost: ptr::null(),
        srcDevice: from.span.address(),
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.height,
        dstXInBytes: to.begin[0],
        dstY: to.begin[1],
        dstZ: to.begin[2],
        dstLOD: 0,
        dstMemoryType: device,
        dstHost: ptr::null_mut(),
        dstDevice: to.span.address(),
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.height,
        WidthInBytes: size[0],
        Height: size[1],
        Depth: size[2],
    }
}

/// Copies a box on the device, after the stream's earlier work. The size is given as bytes, rows
/// and planes.
///
/// # Errors
///
/// Returns the driver's error code.
///
/// # Panics
///
/// Panics if a box extends past its span.
pub fn copy_rows_behind(
    stream: &Stream,
    to: RowBox,
    from: RowBox,
    size: [usize; 3],
) -> Outcome<()> {
    let copy = parameters(to, from, size);
    // SAFETY: the stream is live (1).
    // Both boxes are in device memory (2).
    unsafe { call!(cuMemcpy3DAsync_v2(&raw const copy, stream.raw())) }
}

/// Copies one plane with the call for two-dimensional copies. The heights of the boxes have no
/// effect.
///
/// # Errors
///
/// Returns the driver's error code.
///
/// # Panics
///
/// Panics if a box extends past its span.
pub fn copy_plane_behind(
    stream: &Stream,
    to: RowBox,
    from: RowBox,
    [bytes, rows]: [usize; 2],
) -> Outcome<()> {
    let all = parameters(to, from, [bytes, rows, 1]);
    let copy = sys::CUDA_MEMCPY2D {
        srcXInBytes: all.srcXInBytes,
        srcY: all.srcY,
        srcMemoryType: all.srcMemoryType,
        srcHost: all.srcHost,
        srcDevice: all.srcDevice,
        srcArray: all.srcArray,
        srcPitch: all.srcPitch,
        dstXInBytes: all.dstXInBytes,
        dstY: all.dstY,
        dstMemoryType: all.dstMemoryType,
        dstHost: all.dstHost,
        dstDevice: all.dstDevice,
        dstArray: all.dstArray,
        dstPitch: all.dstPitch,
        WidthInBytes: all.WidthInBytes,
        Height: all.Height,
    };
    // SAFETY: the stream is live (1).
    // Both boxes are in device memory (2).
    unsafe { call!(cuMemcpy2DAsync_v2(&raw const copy, stream.raw())) }
}

/// Fills rows with a byte, after the stream's earlier work.
///
/// # Errors
///
/// Returns the driver's error code.
///
/// # Panics
///
/// Panics if the box extends past its span.
pub fn fill_rows_behind(
    stream: &Stream,
    rows: RowBox,
    value: u8,
    [width, height]: [usize; 2],
) -> Outcome<()> {
    let end = rows.end([width, height, 1]);
    assert!(end.is_some_and(|end| end <= rows.span.bytes()), "{width} by {height} in {rows:?}");
    let (address, pitch) = (rows.address(), rows.pitch);
    // SAFETY: the stream is live (1).
    // The box is in device memory (2).
    unsafe { call!(cuMemsetD2D8Async(address, pitch, value, width, height, stream.raw())) }
}

impl Node<'_> {
    /// Returns the parameters of a copy node.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, for example if the node is not a copy.
    pub fn copied(&self) -> Outcome<sys::CUDA_MEMCPY3D> {
        let mut place = MaybeUninit::<sys::CUDA_MEMCPY3D>::zeroed();
        // SAFETY: the node and its graph are live (1).
        // The output variable outlives the call.
        unsafe { call!(cuGraphMemcpyNodeGetParams(self.raw(), place.as_mut_ptr())) }?;
        // SAFETY: the call succeeded, so it has initialised the whole structure.
        Ok(unsafe { place.assume_init() })
    }

    /// Returns the pitch and the number of rows of a fill node.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, for example if the node is not a fill.
    pub fn filled_rows(&self) -> Outcome<(usize, usize)> {
        // SAFETY: the structure only contains integers, so all zeros are a valid value.
        let mut fill: sys::CUDA_MEMSET_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: the node and its graph are live (1).
        // The output variable outlives the call.
        unsafe { call!(cuGraphMemsetNodeGetParams(self.raw(), &raw mut fill)) }?;
        Ok((fill.pitch, fill.height))
    }
}
