//! CUDA's structures that calls read and write, with the layout of `cuda.h` on 64-bit systems.
//!
//! They do not come from a crate of bindings, so users of the simulator can choose any bindings and
//! any version. Pointers and enumerations are represented as numbers. A caller may pass any value,
//! and a host handle is only a number to a driver. A test compares the layouts with those in
//! cudarc.

#![allow(non_snake_case, non_camel_case_types, reason = "CUDA's names")]

/// `CU_MEMORYTYPE_HOST`.
pub(super) const MEMORY_OF_HOST: u32 = 1;
/// `CU_MEMORYTYPE_DEVICE`.
pub(super) const MEMORY_OF_DEVICE: u32 = 2;
/// `CU_MEMORYTYPE_ARRAY`.
pub(super) const MEMORY_OF_ARRAY: u32 = 3;
/// `CU_MEMORYTYPE_UNIFIED`.
pub(super) const MEMORY_OF_EITHER: u32 = 4;

/// The data of a graph edge, without its two ends.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct CUgraphEdgeData {
    pub(super) from_port: u8,
    pub(super) to_port: u8,
    pub(super) type_: u8,
    pub(super) reserved: [u8; 5],
}

/// A memory fill as a graph node.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct CUDA_MEMSET_NODE_PARAMS {
    pub(super) dst: u64,
    pub(super) pitch: usize,
    pub(super) value: u32,
    pub(super) elementSize: u32,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// A copy of rows.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct CUDA_MEMCPY2D {
    pub(super) srcXInBytes: usize,
    pub(super) srcY: usize,
    pub(super) srcMemoryType: u32,
    pub(super) srcHost: u64,
    pub(super) srcDevice: u64,
    pub(super) srcArray: u64,
    pub(super) srcPitch: usize,
    pub(super) dstXInBytes: usize,
    pub(super) dstY: usize,
    pub(super) dstMemoryType: u32,
    pub(super) dstHost: u64,
    pub(super) dstDevice: u64,
    pub(super) dstArray: u64,
    pub(super) dstPitch: usize,
    pub(super) WidthInBytes: usize,
    pub(super) Height: usize,
}

/// A copy of planes of rows, made by a call or as a graph node. `CUDA_MEMCPY3D_PEER` has contexts
/// in place of the reserved fields.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct CUDA_MEMCPY3D {
    pub(super) srcXInBytes: usize,
    pub(super) srcY: usize,
    pub(super) srcZ: usize,
    pub(super) srcLOD: usize,
    pub(super) srcMemoryType: u32,
    pub(super) srcHost: u64,
    pub(super) srcDevice: u64,
    pub(super) srcArray: u64,
    pub(super) reserved0: u64,
    pub(super) srcPitch: usize,
    pub(super) srcHeight: usize,
    pub(super) dstXInBytes: usize,
    pub(super) dstY: usize,
    pub(super) dstZ: usize,
    pub(super) dstLOD: usize,
    pub(super) dstMemoryType: u32,
    pub(super) dstHost: u64,
    pub(super) dstDevice: u64,
    pub(super) dstArray: u64,
    pub(super) reserved1: u64,
    pub(super) dstPitch: usize,
    pub(super) dstHeight: usize,
    pub(super) WidthInBytes: usize,
    pub(super) Height: usize,
    pub(super) Depth: usize,
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use cudarc::driver::sys as theirs;

    #[test]
    fn structures_lie_as_the_bindings_have_them() {
        macro_rules! same {
            ($($structure:ident: $($field:ident),*;)*) => { $(
                let size = size_of::<theirs::$structure>();
                assert_eq!(size_of::<super::$structure>(), size, stringify!($structure));
                $(
                    let (own, other) = (
                        offset_of!(super::$structure, $field),
                        offset_of!(theirs::$structure, $field),
                    );
                    assert_eq!(own, other, stringify!($structure, $field));
                )*
            )* };
        }
        same! {
            CUgraphEdgeData: from_port, to_port, type_, reserved;
            CUDA_MEMSET_NODE_PARAMS: dst, pitch, value, elementSize, width, height;
            CUDA_MEMCPY2D: srcXInBytes, srcY, srcMemoryType, srcHost, srcDevice, srcArray, srcPitch, dstXInBytes, dstY,
                dstMemoryType, dstHost, dstDevice, dstArray, dstPitch, WidthInBytes, Height;
            CUDA_MEMCPY3D: srcXInBytes, srcY, srcZ, srcLOD, srcMemoryType, srcHost, srcDevice, srcArray, reserved0,
                srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD, dstMemoryType, dstHost, dstDevice, dstArray,
                reserved1, dstPitch, dstHeight, WidthInBytes, Height, Depth;
        }
        let kinds = (
            theirs::CUmemorytype::CU_MEMORYTYPE_HOST as u32,
            theirs::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32,
        );
        assert_eq!((super::MEMORY_OF_HOST, super::MEMORY_OF_DEVICE), kinds);
    }
}
