//! Defines the errors returned by exports and imports.

use std::fmt;

use dlpark::ffi::{DLDataType, DLDevice};
use thiserror::Error;

use crate::element::name_of;

/// An error from exporting an array, or from importing or borrowing a tensor.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The shape and the array have different numbers of elements.
    #[error(
        "shape {shape:?} does not match an array of {elements} elements: choose axis lengths whose \
         product is {elements}"
    )]
    Shape {
        /// The requested axis lengths.
        shape: Vec<usize>,
        /// The number of elements in the array.
        elements: usize,
    },

    /// The tensor must be read-only, but DLPack's legacy tensors cannot be marked as read-only.
    #[error(
        "a shared array must be exported as read-only, which legacy DLPack tensors do not support: \
         export a versioned tensor"
    )]
    LegacyIsWritable,

    /// The tensor's element type is not the requested type.
    #[error(
        "the tensor has elements of {}, but {} was requested",
        name_of(*found),
        name_of(*expected)
    )]
    DataType {
        /// The requested data type.
        expected: DLDataType,
        /// The tensor's data type.
        found: DLDataType,
    },

    /// The tensor is in the wrong kind of memory or on the wrong device.
    #[error(
        "the tensor is on device {} of type {}, but device {} of type {} was requested (type 1 is \
         the host, and type 2 is CUDA)",
        found.device_id, found.device_type.0, expected.device_id, expected.device_type.0
    )]
    Device {
        /// The device that was requested.
        expected: DLDevice,
        /// The device of the tensor.
        found: DLDevice,
    },

    /// The tensor's elements are not contiguous in row-major order.
    #[error(
        "axis {axis} of the tensor has stride {found} instead of {expected}: copy the tensor into \
         row-major order first"
    )]
    Strides {
        /// The index of the last axis whose stride is wrong.
        axis: usize,
        /// The stride of this axis in a row-major array, in elements.
        expected: usize,
        /// The stride of this axis in the tensor, in elements.
        found: i64,
    },

    /// The first element's address is not a multiple of the element's alignment.
    #[error(
        "the tensor's data starts at {address:#x}, which is not aligned to {align} bytes: copy the \
         tensor into aligned memory first"
    )]
    Misaligned {
        /// The first element's address.
        address: u64,
        /// An element's alignment in bytes.
        align: usize,
    },

    /// The tensor has elements, but its memory address is null.
    #[error("the tensor has {elements} elements, but its data pointer is null")]
    NoMemory {
        /// The number of elements in the tensor.
        elements: usize,
    },

    /// The tensor's elements extend past the end of the address space.
    #[error(
        "a tensor of {elements} elements at byte offset {byte_offset} does not fit in the address \
         space"
    )]
    TooLarge {
        /// The number of elements in the tensor.
        elements: usize,
        /// The offset of the first element, in bytes.
        byte_offset: u64,
    },

    /// The tensor is read-only and cannot be borrowed for writing.
    #[error(
        "the tensor is read-only and cannot be borrowed for writing: borrow it for reading, or \
         copy it"
    )]
    ReadOnly,

    /// The tensor's description is invalid.
    #[error("the tensor's metadata is invalid")]
    Malformed(#[source] dlpark::tensor::Error),

    /// DLPack cannot represent the shape.
    #[error("the array's shape cannot be represented in DLPack")]
    Metadata(#[source] dlpark::metadata::Error),

    /// The consumer's stream cannot be made to wait for the producer's stream.
    #[cfg(feature = "cuda")]
    #[error("cannot make the tensor's consumer wait for its producer")]
    Order(#[source] pool_cuda::CudaError),
}

/// An array that could not be exported, together with the reason.
pub struct Refused<A> {
    /// The array, which is unchanged.
    pub array: A,
    /// The error that prevented the export.
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
