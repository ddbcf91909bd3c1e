//! Copies and fills of several rows (driver API, "Memory Management": `cuMemcpy2D`, `cuMemcpy3D`, `cuMemsetD2D8`).
//!
//! Arrays are not modelled: a call that passes one is refused by name. Every pitch is accepted.
//! CUDA documents that calls "may fail for pitches not computed by `cuMemAllocPitch()`", but this
//! limit depends on the device, and the simulated device does not have it.

use super::foreign::{In, Out};
use super::session::Session;
use super::sys::{self, MEMORY_OF_ARRAY, MEMORY_OF_DEVICE, MEMORY_OF_EITHER, MEMORY_OF_HOST};
use super::transfer::anywhere;
use crate::code::{Code, Outcome};
use crate::world::{Copy, Corner, End, Fill, Volume};

/// Pitches of `cuMemAllocPitch` are multiples of this number of bytes.
const PITCH_UNIT: usize = 512;

/// One end of a copy, as CUDA's structures describe it.
struct NamedEnd {
    kind: u32,
    host: u64,
    device: u64,
    corner: Corner,
}

impl NamedEnd {
    /// "If srcMemoryType is `CU_MEMORYTYPE_UNIFIED`, srcDevice and srcPitch specify the (unified virtual address space) base
    /// address of the source data".
    fn end(&self) -> Outcome<End> {
        match self.kind {
            MEMORY_OF_HOST => Ok(End::Host(self.host)),
            MEMORY_OF_DEVICE => Ok(End::Device(self.device)),
            MEMORY_OF_EITHER => Ok(anywhere(self.device)),
            MEMORY_OF_ARRAY => Err(crate::code::unmodelled("copies of arrays")),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// Builds a copy between two described ends. A single row that begins at both base addresses
/// becomes an ordinary copy.
fn copy(to: &NamedEnd, from: &NamedEnd, size: [usize; 3]) -> Outcome<Copy> {
    let [bytes, height, depth] = size;
    let (source, target) = (from.end()?, to.end()?);
    let volume = Volume { height, depth, to: to.corner, from: from.corner };
    let copy = Copy::of_rows(target, source, bytes, volume)?;
    let begins = |corner: Corner| [corner.x, corner.y, corner.z] == [0; 3];
    let is_row = height == 1 && depth == 1 && begins(to.corner) && begins(from.corner);
    Ok(if is_row { Copy::row(copy.to, copy.from, bytes) } else { copy })
}

/// Builds a copy of the rows in one plane.
fn copy_of_rows(wanted: &sys::CUDA_MEMCPY2D) -> Outcome<Copy> {
    let corner = |x, y, pitch| Corner { x, y, z: 0, pitch, height: 0 };
    let from = NamedEnd {
        kind: wanted.srcMemoryType,
        host: wanted.srcHost,
        device: wanted.srcDevice,
        corner: corner(wanted.srcXInBytes, wanted.srcY, wanted.srcPitch),
    };
    let to = NamedEnd {
        kind: wanted.dstMemoryType,
        host: wanted.dstHost,
        device: wanted.dstDevice,
        corner: corner(wanted.dstXInBytes, wanted.dstY, wanted.dstPitch),
    };
    copy(&to, &from, [wanted.WidthInBytes, wanted.Height, 1])
}

/// Builds a copy of the rows in several planes. "srcLOD and dstLOD members of the `CUDA_MEMCPY3D`
/// structure must be set to 0."
pub(super) fn copy_of_planes(wanted: &sys::CUDA_MEMCPY3D) -> Outcome<Copy> {
    if wanted.srcLOD != 0 || wanted.dstLOD != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let from = NamedEnd {
        kind: wanted.srcMemoryType,
        host: wanted.srcHost,
        device: wanted.srcDevice,
        corner: Corner {
            x: wanted.srcXInBytes,
            y: wanted.srcY,
            z: wanted.srcZ,
            pitch: wanted.srcPitch,
            height: wanted.srcHeight,
        },
    };
    let to = NamedEnd {
        kind: wanted.dstMemoryType,
        host: wanted.dstHost,
        device: wanted.dstDevice,
        corner: Corner {
            x: wanted.dstXInBytes,
            y: wanted.dstY,
            z: wanted.dstZ,
            pitch: wanted.dstPitch,
            height: wanted.dstHeight,
        },
    };
    copy(&to, &from, [wanted.WidthInBytes, wanted.Height, wanted.Depth])
}

/// Builds a copy between two contexts. The contexts are checked, but only the addresses determine
/// the memory.
fn copy_of_peers(session: &mut Session, wanted: &sys::CUDA_MEMCPY3D) -> Outcome<Copy> {
    let own = |kind| kind == MEMORY_OF_DEVICE;
    let contexts =
        [(wanted.srcMemoryType, wanted.reserved0), (wanted.dstMemoryType, wanted.reserved1)];
    for (_, context) in contexts.into_iter().filter(|(kind, _)| own(*kind)) {
        session.context(context)?;
    }
    copy_of_planes(wanted)
}

fn wait(session: &mut Session, copy: Copy, what: &'static str) -> Outcome<()> {
    let thread = session.thread;
    let goal = session.copy(thread, copy, what)?;
    session.reach(goal)
}

fn put(session: &mut Session, copy: Copy, stream: u64, what: &'static str) -> Outcome<()> {
    let thread = session.thread;
    let goal = session.copy_async(thread, stream, copy, what)?;
    session.reach(goal)
}

fn rows(address: u64, pitch: usize, value: u32, element: usize, size: [usize; 2]) -> Fill {
    let [width, height] = size;
    Fill { address, pitch, value, element, width, height }
}

fn fill(session: &mut Session, fill: Fill, what: &'static str) -> Outcome<()> {
    let thread = session.thread;
    let goal = session.fill(thread, fill, what)?;
    session.reach(goal)
}

driver_calls! {
    fn cuMemAllocPitch_v2(
        place: Out<u64>,
        pitch: Out<usize>,
        width: usize,
        height: usize,
        element: u32,
    ) |session| {
        if place.is_null() || pitch.is_null() || !matches!(element, 4 | 8 | 16) {
            return Err(Code::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH_UNIT).ok_or(Code::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(Code::OUT_OF_MEMORY)?;
        let thread = session.thread;
        place.put(session.allocate_plain(thread, bytes)?)?;
        pitch.put(row)
    }

    fn cuMemcpy2D_v2(wanted: In<sys::CUDA_MEMCPY2D>) |session| {
        wait(session, copy_of_rows(&wanted.get()?)?, "cuMemcpy2D")
    }

    fn cuMemcpy2DUnaligned_v2(wanted: In<sys::CUDA_MEMCPY2D>) |session| {
        wait(session, copy_of_rows(&wanted.get()?)?, "cuMemcpy2DUnaligned")
    }

    fn cuMemcpy2DAsync_v2(wanted: In<sys::CUDA_MEMCPY2D>, stream: u64) |session| {
        put(session, copy_of_rows(&wanted.get()?)?, stream, "cuMemcpy2DAsync")
    }

    fn cuMemcpy3D_v2(wanted: In<sys::CUDA_MEMCPY3D>) |session| {
        wait(session, copy_of_planes(&wanted.get()?)?, "cuMemcpy3D")
    }

    fn cuMemcpy3DAsync_v2(wanted: In<sys::CUDA_MEMCPY3D>, stream: u64) |session| {
        put(session, copy_of_planes(&wanted.get()?)?, stream, "cuMemcpy3DAsync")
    }

    fn cuMemcpy3DPeer(wanted: In<sys::CUDA_MEMCPY3D>) |session| {
        let copy = copy_of_peers(session, &wanted.get()?)?;
        wait(session, copy, "cuMemcpy3DPeer")
    }

    fn cuMemcpy3DPeerAsync(wanted: In<sys::CUDA_MEMCPY3D>, stream: u64) |session| {
        let copy = copy_of_peers(session, &wanted.get()?)?;
        put(session, copy, stream, "cuMemcpy3DPeerAsync")
    }

    fn cuMemsetD2D8_v2(to: u64, pitch: usize, value: u8, width: usize, height: usize) |session| {
        fill(session, rows(to, pitch, value.into(), 1, [width, height]), "cuMemsetD2D8")
    }

    fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: u16, width: usize, height: usize) |session| {
        fill(session, rows(to, pitch, value.into(), 2, [width, height]), "cuMemsetD2D16")
    }

    fn cuMemsetD2D32_v2(to: u64, pitch: usize, value: u32, width: usize, height: usize) |session| {
        fill(session, rows(to, pitch, value, 4, [width, height]), "cuMemsetD2D32")
    }

    fn cuMemsetD2D8Async(
        to: u64,
        pitch: usize,
        value: u8,
        width: usize,
        height: usize,
        stream: u64,
    ) |session| {
        let (thread, fill) = (session.thread, rows(to, pitch, value.into(), 1, [width, height]));
        session.fill_async(thread, stream, fill, "cuMemsetD2D8Async")
    }

    fn cuMemsetD2D16Async(
        to: u64,
        pitch: usize,
        value: u16,
        width: usize,
        height: usize,
        stream: u64,
    ) |session| {
        let (thread, fill) = (session.thread, rows(to, pitch, value.into(), 2, [width, height]));
        session.fill_async(thread, stream, fill, "cuMemsetD2D16Async")
    }

    fn cuMemsetD2D32Async(
        to: u64,
        pitch: usize,
        value: u32,
        width: usize,
        height: usize,
        stream: u64,
    ) |session| {
        let (thread, fill) = (session.thread, rows(to, pitch, value, 4, [width, height]));
        session.fill_async(thread, stream, fill, "cuMemsetD2D32Async")
    }
}
