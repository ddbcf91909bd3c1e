//! Shapes on the device: for an array of dynamic rank, its lengths and strides lie in device memory, so
//! that a kernel reads them there. Each way of the shape cache keeps one shape, so a shape that was seen before
//! costs no copy.

use std::marker::PhantomData;

use pool_core::{DynamicShape, NdView, PodElement, PoolError, Scope};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::cuda::Cuda;
use crate::stream::device_stream::DeviceStream;
use crate::stream::shape_cells::{MOST_AXES, NUMBERS, ShapeCell};
use crate::view::device_view::DeviceViewMut;

/// What the shape cache keeps of an array of dynamic rank on the device: where its lengths and strides
/// are, once they were asked for.
#[derive(Debug, Default)]
pub struct ShapeDescriptor(Option<ShapeCell>);

impl ShapeDescriptor {
    /// Where the shape is on the device. The first call writes the shape there.
    fn place(
        &mut self,
        shape: DynamicShape<'_>,
        stream: &DeviceStream,
    ) -> Result<Address, CudaError> {
        if let Some(cell) = &self.0 {
            return Ok(cell.address());
        }
        let rank = shape.dims().len();
        if rank > MOST_AXES {
            return Err(CudaError::RankTooLarge { rank, most: MOST_AXES });
        }
        let mut numbers = [0_u64; NUMBERS];
        let all = [rank, 0].into_iter().chain(shape.dims().iter().chain(shape.strides()).copied());
        for (number, length) in numbers.iter_mut().zip(all) {
            *number = length as u64;
        }
        let bytes = bytemuck::cast_slice(&numbers[..2 + 2 * rank]);
        let cell = match stream.source() {
            Some(source) => {
                let cell = take_cell(stream)?;
                stream.bind()?;
                // SAFETY: the cell is allocated, is long enough for the most axes, and belongs to this
                // shape; work that reads an earlier shape there is in the pool's stream.
                unsafe { source.write(cell.address(), bytes) }?;
                cell
            }
            None => {
                stream.bind_outside_capture("write a new shape")?;
                let cell = take_cell(stream)?;
                // SAFETY: as above.
                unsafe { stream.staging().upload(cell.address(), bytes, stream.stream()) }?;
                cell
            }
        };
        let address = cell.address();
        self.0 = Some(cell);
        Ok(address)
    }
}

/// A cell of the pool's own device memory for shapes.
fn take_cell(stream: &DeviceStream) -> Result<ShapeCell, CudaError> {
    stream.shapes().take(|bytes| {
        // No pool tries again for it.
        stream.is_last_attempt().set(true);
        stream.allocate(bytes)
    })
}

/// The lengths and strides of an array, in device memory, each number a `u64`: the rank r, a start of 0,
/// r lengths and then r row-major strides, in elements. An argument for kernels on the pool's stream.
#[derive(Clone, Copy, Debug)]
pub struct DeviceShape<'s> {
    pub(crate) address: Address,
    rank: usize,
    scope: PhantomData<&'s ()>,
}

impl DeviceShape<'_> {
    /// Where the lengths and strides are on the device.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The number of axes.
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
    /// An array of dynamic rank with unspecified contents, and its shape on the device.
    ///
    /// When the slot has had the shape before, nothing is copied.
    ///
    /// # Errors
    ///
    /// [`CudaError::RankTooLarge`] above 15 axes, [`CudaError::Capturing`] for a new shape in a
    /// capture where the pool has no [source](crate::BlockSource), and all of [`Scope::try_acquire`]. No slot
    /// stays taken.
    fn try_acquire_shaped<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<ShapedArray<'s, T>, PoolError<CudaError>>;
}

impl<'s> AcquireShaped<'s> for Scope<'s, Cuda> {
    fn try_acquire_shaped<T: PodElement>(
        &self,
        dims: &[usize],
    ) -> Result<ShapedArray<'s, T>, PoolError<CudaError>> {
        // SAFETY: one exclusive view is made of the block, and the descriptor stays here.
        let parts = unsafe { self.try_acquire_described::<T>(dims) }?;
        let address = parts.descriptor.place(parts.shape, self.context());
        let address = address.map_err(|source| {
            // SAFETY: just handed out by this scope, and there is no view of it.
            unsafe { self.give_back_described(parts.taken) };
            PoolError::Backend { operation: "write a shape", source }
        })?;
        // SAFETY: the acquire handed out `length` elements of the slot's block for `'s`, this is the only
        // view of them, and any bytes are a `PodElement`.
        let view = unsafe { DeviceViewMut::new(parts.block, parts.slot, parts.length) };
        Ok(ShapedArray {
            array: NdView::new(view, parts.shape)?,
            shape: DeviceShape { address, rank: parts.shape.dims().len(), scope: PhantomData },
        })
    }
}
