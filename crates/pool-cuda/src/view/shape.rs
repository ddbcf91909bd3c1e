//! Stores shapes in device memory, where kernels can read the lengths and strides of arrays with a
//! dynamic rank. Each shape-cache entry contains the address of one shape on the device. The pool
//! therefore copies each cached shape to the device only once.

use std::marker::PhantomData;

use pool_core::{DynamicShape, NdView, PodElement, PoolError, Scope};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::view::device_pool::DevicePool;
use crate::view::device_view::DeviceViewMut;

/// The lengths and strides of an array, stored in device memory. All numbers are `u64`s, in this
/// order: the rank r, a start offset of 0, r lengths, and r row-major strides in elements. You can
/// pass a `DeviceShape` to a kernel on the pool's stream.
#[derive(Clone, Copy, Debug)]
pub struct DeviceShape<'s> {
    pub(crate) address: Address,
    rank: usize,
    scope: PhantomData<&'s ()>,
}

impl DeviceShape<'_> {
    /// Returns the device address of the lengths and strides.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the number of axes in the shape.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }
}

/// An array with a dynamic rank and a copy of its shape on the device.
#[derive(Debug)]
#[non_exhaustive]
pub struct ShapedArray<'s, T> {
    /// The array's elements, and its shape on the host.
    pub array: NdView<DeviceViewMut<'s, T>, DynamicShape<'s>>,
    /// The array's shape on the device.
    pub shape: DeviceShape<'s>,
}

/// A trait that adds a method to `Scope` for arrays with shapes that kernels can read from device
/// memory.
pub trait AcquireShaped<'s> {
    /// Acquires an array with a dynamic rank, together with its shape on the device, without
    /// initializing the elements.
    ///
    /// If the slot already stores the shape, this method does not copy the shape to the device.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::RankTooLarge`] if the array has more than 15 axes. Returns
    /// [`CudaError::Capturing`] if the shape is new and the pool's stream is being captured, unless
    /// the pool has a [source](crate::BlockSource). Returns the same errors as
    /// [`Scope::try_acquire`] if the array cannot be acquired. After an error, the slot is
    /// available for the scope's next array.
    fn try_acquire_shaped<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<ShapedArray<'s, T>, PoolError<CudaError>>;
}

impl<'s, B: DevicePool> AcquireShaped<'s> for Scope<'s, B> {
    fn try_acquire_shaped<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<ShapedArray<'s, T>, PoolError<CudaError>> {
        // SAFETY: this function creates exactly one exclusive view of the block and does not return
        // the descriptor.
        let parts = unsafe { self.try_acquire_described::<T>(dims) }?;
        let address = parts.descriptor.place(parts.shape, self.context());
        let address = address.map_err(|source| {
            // SAFETY: this scope has just returned the block. No view of the block exists.
            unsafe { self.give_back_described(parts.taken) };
            PoolError::Backend { operation: "write a shape", source }
        })?;
        // SAFETY: `length` elements of the block have been acquired for `'s`. No other view of
        // these elements exists. Any byte pattern is a valid `PodElement`.
        let view =
            unsafe { DeviceViewMut::new(parts.block, B::of_views(parts.slot), parts.length) };
        Ok(ShapedArray {
            array: NdView::new(view, parts.shape)?,
            shape: DeviceShape { address, rank: parts.shape.dims().len(), scope: PhantomData },
        })
    }
}
