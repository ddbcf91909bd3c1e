//! Shapes on the device: for an array of dynamic rank, its lengths and strides lie in device memory, so
//! that a kernel reads them there. Each way of the shape cache keeps one, so a shape that was seen before
//! costs no copy.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_core::{DynamicShape, NdView, PodElement, PoolError, Scope};

use crate::cuda::Cuda;
use crate::driver::calls::Address;
use crate::driver::chain::Chain;
use crate::driver::error::CudaError;
use crate::stream::device_stream::DeviceStream;
use crate::view::device_view::DeviceViewMut;

/// The most axes of a shape on the device.
const MOST_AXES: usize = 15;

/// Numbers of one shape: the rank, a start, and as many lengths and strides.
const NUMBERS: usize = 2 + 2 * MOST_AXES;

/// Bytes of one shape.
const CELL_BYTES: usize = NUMBERS * 8;

/// Shapes that one allocation holds: a bit for each.
const CELLS: usize = u64::BITS as usize;

/// The device memory for the shapes of one pool. Locked to take a cell or to put it back, for linking and
/// unlinking, and for no call.
#[derive(Debug, Default)]
pub(crate) struct ShapeCells(Mutex<Chain<Slab>>);

/// One allocation.
#[derive(Debug)]
pub(crate) struct Slab {
    address: Address,
    /// A bit for each cell that is free.
    free: u64,
}

/// What the shape cache keeps of an array of dynamic rank on the device: where its lengths and strides
/// are, once they were asked for.
#[derive(Debug, Default)]
pub struct ShapeDescriptor(Option<Cell>);

/// A place for one shape, given back when it is dropped. It is written in the order of the pool's
/// stream, so what read the old shape there comes before the next.
struct Cell {
    address: Address,
    home: Arc<ShapeCells>,
}

impl ShapeCells {
    fn take(self: &Arc<Self>, stream: &DeviceStream) -> Result<Cell, CudaError> {
        let taken = self.slabs().iter_mut().find_map(Slab::take);
        let address = match taken {
            Some(address) => address,
            None => self.take_of_new(stream)?,
        };
        Ok(Cell { address, home: Arc::clone(self) })
    }

    /// A cell of an allocation that is made for it.
    #[cold]
    fn take_of_new(&self, stream: &DeviceStream) -> Result<Address, CudaError> {
        // All but the first cell, which is at its start.
        let mut link = Chain::of(Slab { address: 0, free: !1 })?;
        let address = stream.allocate(CELLS * CELL_BYTES)?;
        link.iter_mut().for_each(|slab| slab.address = address);
        self.slabs().add(link);
        Ok(address)
    }

    /// The allocations, to be freed; no shape is used any more.
    pub(crate) fn take_slabs(&self) -> Chain<Slab> {
        std::mem::take(&mut *self.slabs())
    }

    fn slabs(&self) -> MutexGuard<'_, Chain<Slab>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slab {
    pub(crate) fn address(&self) -> Address {
        self.address
    }

    fn take(&mut self) -> Option<Address> {
        let cell = self.free.trailing_zeros() as usize;
        if cell == CELLS {
            return None;
        }
        self.free &= self.free - 1;
        Some(self.address + (cell * CELL_BYTES) as Address)
    }

    /// Takes a cell back, if it is of this allocation.
    fn put_back(&mut self, address: Address) -> bool {
        let cell = address.wrapping_sub(self.address) / CELL_BYTES as Address;
        let is_within = cell < CELLS as Address;
        if is_within {
            self.free |= 1 << cell;
        }
        is_within
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.home.slabs().iter_mut().any(|slab| slab.put_back(self.address));
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cell").field(&self.address).finish()
    }
}

impl ShapeDescriptor {
    /// Where the shape is on the device; the first time it is written there.
    fn place(
        &mut self,
        shape: DynamicShape<'_>,
        stream: &DeviceStream,
    ) -> Result<Address, CudaError> {
        if let Some(cell) = &self.0 {
            return Ok(cell.address);
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
                let cell = stream.shapes().take(stream)?;
                stream.bind()?;
                // SAFETY: the cell is allocated, is long enough for the most axes, and belongs to this
                // shape; who read an earlier one there is in the pool's stream.
                unsafe { source.write(cell.address, bytes) }?;
                cell
            }
            None => {
                stream.bind_outside_capture("write a new shape")?;
                let cell = stream.shapes().take(stream)?;
                // SAFETY: as above.
                unsafe { stream.staging().upload(cell.address, bytes, stream.stream()) }?;
                cell
            }
        };
        let address = cell.address;
        self.0 = Some(cell);
        Ok(address)
    }
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
    /// Where it is on the device.
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
    /// capture where the pool has no [source](crate::BlockSource), and all of [`Scope::try_acquire_nd`]. No slot
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
            unsafe { self.give_back_described(parts.slot) };
            PoolError::Backend { operation: "write a shape", source }
        })?;
        // SAFETY: the acquire handed out `length` elements of the slot's block for `'s`, this is the only
        // view of them, and any bytes are a `PodElement`.
        let view = unsafe { DeviceViewMut::new(parts.block, parts.slot, parts.length) };
        Ok(ShapedArray {
            array: NdView::try_new(view, parts.shape)?,
            shape: DeviceShape { address, rank: parts.shape.dims().len(), scope: PhantomData },
        })
    }
}
