//! Imports tensors in host memory from other libraries for use as slices.
//!
//! # Invariants
//!
//! - Invariant 1: `start` is the address of `length` elements of `T`. The address is aligned for
//!   `T`, and the elements stay readable until `owner` is dropped.
//! - Invariant 2: `owner` is dropped together with this value, after all uses of the elements.

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

/// A tensor that another library created in host memory. The tensor dereferences to a slice of its
/// elements.
///
/// The tensor's producer owns the memory. Dropping this value on any thread returns the memory to
/// the producer. The elements must be in row-major order, but an axis of length 1 may have any
/// stride.
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
/// assert_eq!(refused.to_string(), "the tensor has elements of float64, but float32 was requested");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Element types with invalid byte patterns cannot be imported.
///
/// ```compile_fail,E0599
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

// SAFETY: `import` requires that the tensor's memory stays valid until the tensor's deleter is
// called. The elements are `Send`, and DLPack's deleters may run on any thread.
unsafe impl<T: Send> Send for HostTensor<T> {}

// SAFETY: a shared reference to a tensor gives only shared access to the tensor's elements.
unsafe impl<T: Sync> Sync for HostTensor<T> {}

impl<T: TensorElement + PodElement> HostTensor<T> {
    /// Checks a tensor and takes ownership of it. The tensor is dropped if a check fails.
    ///
    /// # Errors
    ///
    /// Returns [`TensorError::Malformed`] if the description violates DLPack's rules, or
    /// [`TensorError::DataType`] if the elements have another type. Returns [`TensorError::Device`]
    /// if the tensor is in device memory, or [`TensorError::Strides`] if the elements are not
    /// contiguous in row-major order. Returns [`TensorError::Misaligned`],
    /// [`TensorError::NoMemory`], or [`TensorError::TooLarge`] if the elements' address or size is
    /// invalid.
    ///
    /// # Safety
    ///
    /// The tensor's memory must contain the described elements until the deleter is called. The
    /// elements must be initialized. The elements may be written only through
    /// [`as_mut_slice`](Self::as_mut_slice) until this value is dropped.
    pub unsafe fn import<M: ManagedTensorBase>(tensor: Managed<M>) -> Result<Self, TensorError> {
        let layout = CheckedLayout::of::<T, M>(&tensor, DLDevice::CPU)?;
        let start = if layout.elements == 0 {
            NonNull::dangling()
        } else {
            // `CheckedLayout` has verified that the address plus the offset does not overflow, so
            // the pointer stays within the producer's memory.
            let first = layout.data.wrapping_add(layout.byte_offset).cast::<T>();
            NonNull::new(first).ok_or(TensorError::NoMemory { elements: layout.elements })?
        };
        let is_read_only = tensor.flags().contains(DlpackFlags::READ_ONLY);
        let (length, shape) = (layout.elements, layout.shape);
        Ok(Self { start, length, shape, is_read_only, _owner: tensor.into_deleter() })
    }

    /// Borrows the elements for writing.
    ///
    /// # Errors
    ///
    /// Returns [`TensorError::ReadOnly`] if the producer does not allow writes.
    ///
    /// # Safety
    ///
    /// No other code may read or write the elements during the borrow. For example, Python
    /// producers hold their own references to the elements.
    pub unsafe fn as_mut_slice(&mut self) -> Result<&mut [T], TensorError> {
        if self.is_read_only {
            return Err(TensorError::ReadOnly);
        }
        // SAFETY: `start` is the aligned address of `length` elements (invariant 1). The caller
        // guarantees exclusive access to the elements.
        Ok(unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) })
    }
}

impl<T> HostTensor<T> {
    /// Returns the tensor's axis lengths. The slice is empty if the tensor is a scalar.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns `true` if the producer forbids writes to the tensor.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }
}

impl<T> Deref for HostTensor<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `start` is the aligned address of `length` elements (invariant 1). `import`
        // requires that no code writes to the elements during the borrow.
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
