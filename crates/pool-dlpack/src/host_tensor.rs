//! Foreign tensors in host memory, as slices.
//!
//! # Invariants
//!
//! 1. `start` is the address of `length` elements of `T`, aligned for `T`, readable until `owner` is dropped.
//! 2. `owner` is dropped with the tensor, after its last use.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

use dlpark::ffi::DLDevice;
use dlpark::{AllocationDeleter, DlpackFlags, Managed, ManagedTensorBase};
use pool_core::PodElement;

use crate::element::TensorElement;
use crate::error::TensorError;
use crate::layout::CheckedLayout;

/// A foreign tensor in host memory, which derefs to a slice of its elements.
///
/// Its memory belongs to the producer. Dropping the tensor returns the memory, on any thread. Tensors are row-major; an
/// axis of length 1 may have any stride.
///
/// ```
/// # use pool_core::SharedPool;
/// use pool_dlpack::dlpark::versioned::Dlpack;
/// use pool_dlpack::{HostTensor, TensorError};
///
/// # let pool = SharedPool::<pool_cpu::Cpu>::default();
/// # let tensor: Dlpack = pool_dlpack::export(pool.take_zeroed::<f64>(4), &[4])?;
/// // SAFETY: the producer keeps to DLPack, and nothing writes to the tensor.
/// let refused = unsafe { HostTensor::<f32>::import(tensor) }.unwrap_err();
/// assert_eq!(refused.to_string(), "the tensor has elements of float64, not of float32");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Only element types for which every byte pattern is a value can be imported.
///
/// ```compile_fail,E0277
/// # fn bools(tensor: pool_dlpack::dlpark::versioned::Dlpack) {
/// let tensor = unsafe { pool_dlpack::HostTensor::<bool>::import(tensor) }; // foreign_bools
/// # }
/// ```
pub struct HostTensor<T> {
    start: NonNull<T>,
    length: usize,
    shape: Box<[usize]>,
    is_read_only: bool,
    _owner: AllocationDeleter,
}

// SAFETY: the memory is the tensor's (`import`), its elements are `Send`, and DLPack's deleters run on any thread.
unsafe impl<T: Send> Send for HostTensor<T> {}

// SAFETY: a shared tensor gives shared access to its elements alone.
unsafe impl<T: Sync> Sync for HostTensor<T> {}

impl<T: TensorElement + PodElement> HostTensor<T> {
    /// Checks a tensor and takes it over. Drops a tensor that it refuses.
    ///
    /// # Errors
    ///
    /// [`TensorError::Malformed`] for a description that DLPack does not allow, [`TensorError::DataType`] for other
    /// elements, [`TensorError::Device`] for memory of a device, [`TensorError::Strides`] if the elements are not
    /// adjacent in row-major order, [`TensorError::Misaligned`], [`TensorError::NoMemory`] and
    /// [`TensorError::TooLarge`].
    ///
    /// # Safety
    ///
    /// The tensor's memory has the elements that it describes, initialised, until the deleter is called. Until this value
    /// is dropped, nothing writes to them but through [`as_mut_slice`](Self::as_mut_slice).
    pub unsafe fn import<M: ManagedTensorBase>(tensor: Managed<M>) -> Result<Self, TensorError> {
        let layout = CheckedLayout::of::<T, M>(&tensor, DLDevice::CPU)?;
        let start = if layout.elements == 0 {
            NonNull::dangling()
        } else {
            // In the producer's memory: `CheckedLayout` has added them without overflow.
            let first = layout.data.wrapping_add(layout.byte_offset).cast::<T>();
            NonNull::new(first).ok_or(TensorError::NoMemory { elements: layout.elements })?
        };
        let is_read_only = tensor.flags().contains(DlpackFlags::READ_ONLY);
        let (length, shape) = (layout.elements, layout.shape);
        Ok(Self { start, length, shape, is_read_only, _owner: tensor.into_deleter() })
    }

    /// Lends the elements for writing.
    ///
    /// # Errors
    ///
    /// [`TensorError::ReadOnly`] if the producer forbids it.
    ///
    /// # Safety
    ///
    /// Nothing else reads or writes the elements while they are borrowed. Producers in Python keep their own reference
    /// to them.
    pub unsafe fn as_mut_slice(&mut self) -> Result<&mut [T], TensorError> {
        if self.is_read_only {
            return Err(TensorError::ReadOnly);
        }
        // SAFETY: invariant 1, and the caller's promise.
        Ok(unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) })
    }
}

impl<T> HostTensor<T> {
    /// Returns the lengths of the axes. A scalar has none.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns `true` if the producer forbids writes.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }
}

impl<T> Deref for HostTensor<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: invariant 1; nothing writes meanwhile (`import`).
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T> fmt::Debug for HostTensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTensor")
            .field("shape", &self.shape)
            .field("is_read_only", &self.is_read_only)
            .finish_non_exhaustive()
    }
}
