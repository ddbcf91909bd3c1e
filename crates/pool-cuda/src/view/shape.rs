//! Shapes on the device: kernels read the lengths and strides of an array of dynamic rank from
//! device memory. Each entry of the shape cache keeps one shape, so a repeated shape needs no copy.

use std::marker::PhantomData;

use pool_core::{DynamicShape, NdView, PodElement, PoolError, Scope};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::view::device_pool::DevicePool;
use crate::view::device_view::DeviceViewMut;

/// The lengths and strides of an array, in device memory. All numbers are `u64`s: the rank r, a
/// start of 0, r lengths, and then r row-major strides in elements. A `DeviceShape` can be a kernel
/// argument on the pool's stream.
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

    /// Returns the number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }
}

/// An array of dynamic rank with its shape on the device.
#[derive(Debug)]
#[non_exhaustive]
pub struct ShapedArray<'s, T> {
    /// The elements, with their shape on the host.
    pub array: NdView<DeviceViewMut<'s, T>, DynamicShape<'s>>,
    /// The shape on the device.
    pub shape: DeviceShape<'s>,
}

/// Acquires arrays whose shape kernels read from device memory.
pub trait AcquireShaped<'s> {
    /// Acquires an array of dynamic rank with unspecified contents, together with its shape on the
    /// device.
    ///
    /// If the slot has already stored the shape, nothing is copied.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::RankTooLarge`] for more than 15 axes, [`CudaError::Capturing`] for a
    /// new shape during a capture if the pool has no [source](crate::BlockSource), and all errors
    /// of [`Scope::try_acquire`]. After an error, no slot stays taken.
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
        // SAFETY: exactly one exclusive view of the block is created, and the descriptor stays
        // here.
        let parts = unsafe { self.try_acquire_described::<T>(dims) }?;
        let address = parts.descriptor.place(parts.shape, self.context());
        let address = address.map_err(|source| {
            // SAFETY: this scope has just returned the block, and no view of it exists.
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
