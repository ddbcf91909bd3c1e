//! Shapes on the device: for an array of dynamic rank, kernels read its lengths and strides from
//! device memory. Each entry of the shape cache keeps one shape, so a repeated shape costs no copy.

use std::marker::PhantomData;

use pool_core::{DynamicShape, NdView, PodElement, PoolError, Scope};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::view::device_pool::DevicePool;
use crate::view::device_view::DeviceViewMut;

/// The lengths and strides of an array, in device memory. Each number is a `u64`: the rank r, a
/// start of 0, r lengths and then r row-major strides, in elements. It is an argument for kernels
/// on the pool's stream.
#[derive(Clone, Copy, Debug)]
pub struct DeviceShape<'s> {
    pub(crate) address: Address,
    rank: usize,
    scope: PhantomData<&'s ()>,
}

impl DeviceShape<'_> {
    /// Returns the address of the lengths and strides on the device.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }
}

/// An array of dynamic rank, and its shape on the device.
#[derive(Debug)]
#[non_exhaustive]
pub struct ShapedArray<'s, T> {
    /// The elements, with their shape on the host.
    pub array: NdView<DeviceViewMut<'s, T>, DynamicShape<'s>>,
    /// The shape on the device.
    pub shape: DeviceShape<'s>,
}

/// Acquires of arrays whose shape kernels read from device memory.
pub trait AcquireShaped<'s> {
    /// Acquires an array of dynamic rank with unspecified contents, and its shape on the device.
    ///
    /// If the slot has had the shape before, nothing is copied.
    ///
    /// # Errors
    ///
    /// [`CudaError::RankTooLarge`] above 15 axes, [`CudaError::Capturing`] for a new shape in a
    /// capture if the pool has no [source](crate::BlockSource), and all of [`Scope::try_acquire`].
    /// On an error, no slot stays taken.
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
        // SAFETY: one exclusive view is made of the block, and the descriptor stays here.
        let parts = unsafe { self.try_acquire_described::<T>(dims) }?;
        let address = parts.descriptor.place(parts.shape, self.context());
        let address = address.map_err(|source| {
            // SAFETY: this scope has just returned it, and there is no view of it.
            unsafe { self.give_back_described(parts.taken) };
            PoolError::Backend { operation: "write a shape", source }
        })?;
        // SAFETY: the acquire returned `length` elements of the block for `'s`, this is the only
        // view of them, and any bytes are a valid `PodElement`.
        let view =
            unsafe { DeviceViewMut::new(parts.block, B::of_views(parts.slot), parts.length) };
        Ok(ShapedArray {
            array: NdView::new(view, parts.shape)?,
            shape: DeviceShape { address, rank: parts.shape.dims().len(), scope: PhantomData },
        })
    }
}
