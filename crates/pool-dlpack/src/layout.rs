//! Checks an imported tensor's description before the crate creates a view of the tensor's memory.

use dlpark::ffi::DLDevice;
use dlpark::{Managed, ManagedTensorBase};

use crate::element::TensorElement;
use crate::error::TensorError;

/// A tensor's axes and the address of its first element, after all checks have passed.
#[derive(Debug)]
pub(crate) struct CheckedLayout {
    pub(crate) shape: Box<[usize]>,
    pub(crate) elements: usize,
    /// The address of the tensor's memory, or null if the tensor is empty.
    pub(crate) data: *mut u8,
    /// The distance from `data` to the first element, in bytes.
    pub(crate) byte_offset: usize,
}

impl CheckedLayout {
    /// Checks that a tensor is a row-major array of `T` on `device`, and that the first element is
    /// aligned for `T`.
    pub(crate) fn of<T: TensorElement, M: ManagedTensorBase>(
        tensor: &Managed<M>,
        device: DLDevice,
    ) -> Result<Self, TensorError> {
        let described = tensor.validate().map_err(TensorError::Malformed)?;
        if !described.dtype().matches(T::DATA_TYPE) {
            let found = described.dtype();
            return Err(TensorError::DataType { expected: T::DATA_TYPE, found });
        }
        if described.device() != device {
            return Err(TensorError::Device { expected: device, found: described.device() });
        }
        let elements = described.num_elements();
        let byte_offset = described.byte_offset();
        let too_large = || TensorError::TooLarge { elements, byte_offset };
        let shape: Box<[usize]> = described
            .shape()
            .iter()
            .map(|&length| usize::try_from(length).map_err(|_| too_large()))
            .collect::<Result<_, _>>()?;
        if elements == 0 {
            return Ok(Self { shape, elements, data: std::ptr::null_mut(), byte_offset: 0 });
        }
        if let Some(strides) = described.strides() {
            check_strides(&shape, strides)?;
        }
        let data = described.data_ptr().cast::<u8>().cast_mut();
        if data.is_null() {
            return Err(TensorError::NoMemory { elements });
        }
        let byte_offset = usize::try_from(byte_offset).map_err(|_| too_large())?;
        let bytes = elements.checked_mul(size_of::<T>()).ok_or_else(too_large)?;
        let address = data.addr().checked_add(byte_offset).ok_or_else(too_large)?;
        if bytes > isize::MAX as usize || address.checked_add(bytes).is_none() {
            return Err(too_large());
        }
        if !address.is_multiple_of(align_of::<T>()) {
            return Err(TensorError::Misaligned {
                address: address as u64,
                align: align_of::<T>(),
            });
        }
        Ok(Self { shape, elements, data, byte_offset })
    }
}

/// Checks that the axes have the strides of a row-major array. An axis of length 1 may have any
/// stride, because its stride is never used.
fn check_strides(shape: &[usize], strides: &[i64]) -> Result<(), TensorError> {
    let mut expected = 1_usize;
    for (axis, (&length, &found)) in shape.iter().zip(strides).enumerate().rev() {
        if length != 1 && usize::try_from(found) != Ok(expected) {
            return Err(TensorError::Strides { axis, expected, found });
        }
        // The multiplication cannot overflow, because no length is zero and the product of all
        // lengths fits in a `usize`.
        expected = expected.saturating_mul(length);
    }
    Ok(())
}
