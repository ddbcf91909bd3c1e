//! The memory that a fill node or a copy node accesses. Each access is described as a range from
//! its first to its last byte.
//!
//! The driver API defines the addresses ("cuMemcpy3D"): row `y` of plane `z` begins at
//! `base + (z * height + y) * pitch + x`. The bytes between two rows count as accessed. All values
//! come from the graph and can be arbitrarily large, so every addition and multiplication is
//! checked for overflow.

use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;

use pool_driver::cudarc::driver::sys;

/// The reason a node's memory accesses cannot be read from the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnreadableReason {
    /// Nodes of this kind are unknown to this crate, or the driver API does not report which memory
    /// they access.
    Kind,
    /// The copy reads or writes a CUDA array. A CUDA array has no address.
    Array,
    /// The node accesses memory of a `CUmemorytype` that is unknown to this crate.
    MemoryType(u32),
    /// The node accesses several rows with a pitch of 0, or several planes with a height of 0.
    Pitch,
    /// The node accesses addresses that do not fit into 64 bits.
    Overflow,
}

impl fmt::Display for UnreadableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "the driver does not report the node's memory",
            Self::Array => "the node copies from or to a CUDA array",
            Self::MemoryType(kind) => {
                return write!(f, "the node's memory has the unknown type {kind}");
            }
            Self::Pitch => "the node copies several rows without a pitch or a height",
            Self::Overflow => "the node's addresses exceed 64 bits",
        })
    }
}

/// The memory that a node accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedMemory {
    pub(super) is_host: bool,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// A three-dimensional box of bytes in memory with a pitch and a height.
#[derive(Clone, Copy, Debug)]
struct RowBox {
    base: u64,
    /// The box's offset in bytes, rows, and planes.
    begin: [u64; 3],
    /// The box's size in bytes per row, rows per plane, and planes.
    size: [u64; 3],
    pitch: u64,
    height: u64,
}

/// The source or target of a copy, as described by the driver.
struct End {
    kind: u32,
    host: *const c_void,
    device: u64,
    /// The box's offset in bytes, rows, and planes.
    begin: [usize; 3],
    pitch: usize,
    height: usize,
}

/// Returns the memory that a fill writes to. According to the driver API, `CUDA_MEMSET_NODE_PARAMS`
/// contains the "pitch of destination device pointer", which is unused if the height is 1.
pub(super) fn of_fill(
    fill: &sys::CUDA_MEMSET_NODE_PARAMS,
) -> Result<NamedMemory, UnreadableReason> {
    let row = (fill.width as u64).checked_mul(fill.elementSize.into());
    let rows = RowBox {
        base: fill.dst,
        begin: [0; 3],
        size: [row.ok_or(UnreadableReason::Overflow)?, fill.height.max(1) as u64, 1],
        pitch: fill.pitch as u64,
        height: 0,
    };
    rows.hull(false)
}

/// Returns two memory ranges: the source of a copy, followed by its target.
///
/// The memory types are read as numbers because a newer driver might return types that are missing
/// from the bindings' enum. The enum is `repr(u32)`.
pub(super) fn of_copy(
    place: &MaybeUninit<sys::CUDA_MEMCPY3D>,
) -> Result<[NamedMemory; 2], UnreadableReason> {
    let copy = place.as_ptr();
    // SAFETY: the field lies within `place`. The expression creates no reference and reads no
    // memory.
    let source = unsafe { &raw const (*copy).srcMemoryType };
    // SAFETY: the field lies within `place`. The expression creates no reference and reads no
    // memory.
    let target = unsafe { &raw const (*copy).dstMemoryType };
    // SAFETY: `place` was zeroed before the driver wrote the parameters, so both fields are
    // initialized. A `u32` has the same size as the enum.
    let kinds = [source, target].map(|kind| unsafe { kind.cast::<u32>().read() });
    kinds.into_iter().try_for_each(check_type)?;
    // SAFETY: both memory-type fields contain valid values of their enum. Every other field is an
    // integer or a raw pointer.
    let copy = unsafe { place.assume_init_ref() };
    let size = [copy.WidthInBytes, copy.Height.max(1), copy.Depth.max(1)].map(|size| size as u64);
    let read = End {
        kind: kinds[0],
        host: copy.srcHost,
        device: copy.srcDevice,
        begin: [copy.srcXInBytes, copy.srcY, copy.srcZ],
        pitch: copy.srcPitch,
        height: copy.srcHeight,
    };
    let written = End {
        kind: kinds[1],
        host: copy.dstHost,
        device: copy.dstDevice,
        begin: [copy.dstXInBytes, copy.dstY, copy.dstZ],
        pitch: copy.dstPitch,
        height: copy.dstHeight,
    };
    Ok([read.memory(size)?, written.memory(size)?])
}

/// The value of `CU_MEMORYTYPE_HOST`.
const HOST: u32 = 1;

/// Checks that this type of memory has addresses. Host, device, and unified memory have addresses,
/// but CUDA arrays do not. If unified memory is the source or target of a copy, its address is in
/// `srcDevice` or `dstDevice`.
fn check_type(kind: u32) -> Result<(), UnreadableReason> {
    match kind {
        HOST | 2 | 4 => Ok(()),
        3 => Err(UnreadableReason::Array),
        other => Err(UnreadableReason::MemoryType(other)),
    }
}

impl End {
    /// Returns the memory that this side of a copy refers to. `size` contains the bytes per row,
    /// the rows per plane, and the number of planes.
    fn memory(self, size: [u64; 3]) -> Result<NamedMemory, UnreadableReason> {
        let is_host = self.kind == HOST;
        let rows = RowBox {
            base: if is_host { self.host.addr() as u64 } else { self.device },
            begin: self.begin.map(|begin| begin as u64),
            size,
            pitch: self.pitch as u64,
            height: self.height as u64,
        };
        rows.hull(is_host)
    }
}

impl RowBox {
    /// Returns the range from the box's first byte to its last byte.
    fn hull(self, is_host: bool) -> Result<NamedMemory, UnreadableReason> {
        let [_, y, z] = self.begin;
        let [_, rows, planes] = self.size;
        let needs_height = planes > 1 || z > 0;
        let needs_pitch = needs_height || rows > 1 || y > 0;
        if (needs_pitch && self.pitch == 0) || (needs_height && self.height == 0) {
            return Err(UnreadableReason::Pitch);
        }
        let (address, bytes) = self.range().ok_or(UnreadableReason::Overflow)?;
        Ok(NamedMemory { is_host, address, bytes })
    }

    fn range(self) -> Option<(u64, u64)> {
        let [x, y, z] = self.begin;
        let [row, rows, planes] = self.size;
        let offset = |z: u64, y: u64, x: u64| {
            let row = z.checked_mul(self.height)?.checked_add(y)?;
            row.checked_mul(self.pitch)?.checked_add(x)
        };
        let address = self.base.checked_add(offset(z, y, x)?)?;
        let bytes = offset(planes - 1, rows - 1, row)?;
        address.checked_add(bytes)?;
        Some((address, bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;
    use std::ptr;

    use pool_driver::cudarc::driver::sys;
    use sys::CUmemorytype_enum as MemoryType;

    use super::{NamedMemory, UnreadableReason, of_copy, of_fill};

    /// Returns the parameters of a host-to-device copy of two planes, each with two rows of eight
    /// bytes.
    fn copy() -> sys::CUDA_MEMCPY3D {
        sys::CUDA_MEMCPY3D {
            srcXInBytes: 1,
            srcY: 1,
            srcZ: 1,
            srcLOD: 0,
            srcMemoryType: MemoryType::CU_MEMORYTYPE_HOST,
            srcHost: ptr::without_provenance(500),
            srcDevice: 0,
            srcArray: ptr::null_mut(),
            reserved0: ptr::null_mut(),
            srcPitch: 10,
            srcHeight: 3,
            dstXInBytes: 2,
            dstY: 1,
            dstZ: 3,
            dstLOD: 0,
            dstMemoryType: MemoryType::CU_MEMORYTYPE_DEVICE,
            dstHost: ptr::null_mut(),
            dstDevice: 1000,
            dstArray: ptr::null_mut(),
            reserved1: ptr::null_mut(),
            dstPitch: 20,
            dstHeight: 4,
            WidthInBytes: 8,
            Height: 2,
            Depth: 2,
        }
    }

    /// Changes one field of the parameters returned by `copy` and checks whether the copy's memory
    /// ranges can still be read.
    fn changed(change: impl FnOnce(&mut sys::CUDA_MEMCPY3D)) -> Result<(), UnreadableReason> {
        let mut copy = copy();
        change(&mut copy);
        of_copy(&MaybeUninit::new(copy)).map(drop)
    }

    #[test]
    fn a_copy_names_its_first_byte_to_its_last() {
        let [read, written] = of_copy(&MaybeUninit::new(copy())).unwrap();
        let host = NamedMemory { is_host: true, address: 500 + 41, bytes: 48 };
        let device = NamedMemory { is_host: false, address: 1000 + 262, bytes: 108 };
        assert_eq!((read, written), (host, device));
    }

    #[test]
    fn a_copy_that_cannot_be_read_says_why() {
        use UnreadableReason::{Array, Overflow, Pitch};
        let array = MemoryType::CU_MEMORYTYPE_ARRAY;
        assert_eq!(changed(|copy| copy.srcMemoryType = array), Err(Array));
        assert_eq!(changed(|copy| copy.dstPitch = 0), Err(Pitch));
        assert_eq!(changed(|copy| copy.srcHeight = 0), Err(Pitch));
        assert_eq!(changed(|copy| copy.dstY = usize::MAX), Err(Overflow));
        assert_eq!(changed(|copy| copy.dstZ = usize::MAX / 4), Err(Overflow));
        assert_eq!(changed(|copy| copy.dstXInBytes = usize::MAX), Err(Overflow));
        assert_eq!(changed(|copy| copy.dstDevice = u64::MAX - 300), Err(Overflow));
        let unified = MemoryType::CU_MEMORYTYPE_UNIFIED;
        assert_eq!(changed(|copy| copy.dstMemoryType = unified), Ok(()));
        let mut place = MaybeUninit::new(copy());
        // SAFETY: the field lies within `place`. The expression creates no reference.
        let kind = unsafe { &raw mut (*place.as_mut_ptr()).dstMemoryType };
        // SAFETY: the pointer refers to a field of `place`. A `u32` has the same size as this
        // field.
        unsafe { kind.cast::<u32>().write(9) };
        assert_eq!(of_copy(&place), Err(UnreadableReason::MemoryType(9)));
    }

    #[test]
    fn a_fill_names_its_first_byte_to_its_last() {
        let fill = sys::CUDA_MEMSET_NODE_PARAMS {
            dst: 1000,
            pitch: 20,
            value: 0,
            elementSize: 4,
            width: 3,
            height: 3,
        };
        let named = |address, bytes| Ok(NamedMemory { is_host: false, address, bytes });
        assert_eq!(of_fill(&fill), named(1000, 52));
        let row = sys::CUDA_MEMSET_NODE_PARAMS { pitch: 0, height: 1, ..fill };
        assert_eq!(of_fill(&row), named(1000, 12));
        let rows = sys::CUDA_MEMSET_NODE_PARAMS { pitch: 0, ..fill };
        assert_eq!(of_fill(&rows), Err(UnreadableReason::Pitch));
        for bad in [
            sys::CUDA_MEMSET_NODE_PARAMS { width: usize::MAX / 2, ..fill },
            sys::CUDA_MEMSET_NODE_PARAMS { pitch: usize::MAX, ..fill },
            sys::CUDA_MEMSET_NODE_PARAMS { dst: u64::MAX - 51, ..fill },
        ] {
            assert_eq!(of_fill(&bad), Err(UnreadableReason::Overflow));
        }
    }
}
