//! Errors of exports and imports.

use std::fmt;

use dlpark::ffi::{DLDataType, DLDevice};
use thiserror::Error;

use crate::element::name_of;

/// The reason why an array or a tensor was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The shape has another number of elements than the array.
    #[error("a tensor of shape {shape:?} does not have the {elements} elements of the array")]
    Shape {
        /// The requested lengths of the axes.
        shape: Vec<usize>,
        /// The elements of the array.
        elements: usize,
    },

    /// The tensor must be read-only, and DLPack's legacy tensors have no flag for it.
    #[error(
        "a shared array is read-only, which a legacy tensor cannot express: export a versioned one"
    )]
    LegacyIsWritable,

    /// The tensor has other elements.
    #[error("the tensor has elements of {}, not of {}", name_of(*found), name_of(*expected))]
    DataType {
        /// The requested data type.
        expected: DLDataType,
        /// The tensor's data type.
        found: DLDataType,
    },

    /// The tensor is in memory of another kind or another device.
    #[error(
        "the tensor is on device {} of type {}, not on device {} of type {} (1 is the host, 2 is CUDA)",
        found.device_id, found.device_type.0, expected.device_id, expected.device_type.0
    )]
    Device {
        /// The requested device.
        expected: DLDevice,
        /// The tensor's device.
        found: DLDevice,
    },

    /// The elements are not adjacent in row-major order.
    #[error(
        "axis {axis} of the tensor has stride {found} instead of {expected}: copy it into row-major order first"
    )]
    Strides {
        /// The first axis with such a stride, from the last one on.
        axis: usize,
        /// The stride of row-major order, in elements.
        expected: usize,
        /// The tensor's stride, in elements.
        found: i64,
    },

    /// The first element's address is not aligned for its type.
    #[error(
        "the elements start at {address:#x}, which is no multiple of their alignment, {align} bytes"
    )]
    Misaligned {
        /// The address of the first element, in bytes.
        address: u64,
        /// The alignment of an element, in bytes.
        align: usize,
    },

    /// The tensor has elements, but no memory.
    #[error("the tensor has {elements} elements and no memory")]
    NoMemory {
        /// The tensor's elements.
        elements: usize,
    },

    /// The tensor is longer than an address space, or its offset leads out of it.
    #[error(
        "the tensor has {elements} elements at byte offset {byte_offset}, beyond the address space"
    )]
    TooLarge {
        /// The tensor's elements.
        elements: usize,
        /// The offset of the first element, in bytes.
        byte_offset: u64,
    },

    /// The tensor is read-only.
    #[error("the tensor is read-only: read it, or copy it")]
    ReadOnly,

    /// The tensor's description is invalid.
    #[error("the tensor's description is not valid")]
    Malformed(#[source] dlpark::tensor::Error),

    /// No tensor of this shape can be described.
    #[error("the tensor cannot be described")]
    Metadata(#[source] dlpark::metadata::Error),

    /// The streams of a producer and its consumer cannot be ordered.
    #[cfg(feature = "cuda")]
    #[error("the streams of the tensor's producer and consumer cannot be ordered")]
    Order(#[source] pool_cuda::CudaError),
}

/// An array that was not exported, and the reason.
pub struct Refused<A> {
    /// The array, as it was.
    pub array: A,
    /// The reason.
    pub error: TensorError,
}

impl<A> fmt::Debug for Refused<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<A> fmt::Display for Refused<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<A> std::error::Error for Refused<A> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}
