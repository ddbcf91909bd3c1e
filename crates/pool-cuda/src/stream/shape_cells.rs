//! The device memory that stores one pool's shapes. The memory for shapes is divided into cells of
//! equal size. Dropping the pool frees the blocks that contain the cells.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_driver::calls::Address;
use pool_driver::chain::Chain;
use pool_driver::error::CudaError;

/// The maximum number of axes in a shape on the device.
pub(crate) const MOST_AXES: usize = 15;

/// The number of integers in one shape: the rank, a start offset, and the length and stride of each
/// axis.
pub(crate) const NUMBERS: usize = 2 + 2 * MOST_AXES;

/// The number of bytes in one shape.
const CELL_BYTES: usize = NUMBERS * 8;

/// The number of cells in one slab. This number must not exceed the number of bits in a slab's
/// mask.
const CELLS: usize = u64::BITS as usize;

/// One pool's slabs. The lock is held only while cells are acquired or returned, or slabs are added
/// or removed. The lock is never held during a driver call.
#[derive(Debug, Default)]
pub(crate) struct ShapeCells(Mutex<Chain<Slab>>);

/// A block of device memory divided into cells.
#[derive(Debug)]
pub(crate) struct Slab {
    address: Address,
    /// A bit mask with one bit for each cell. A set bit marks a free cell.
    free: u64,
}

/// A cell that stores one shape. Dropping this value returns the cell to its slab. Writes to cells
/// are ordered on the pool's stream, so a new shape is written only after all work that reads the
/// previous one.
pub(crate) struct ShapeCell {
    address: Address,
    home: Arc<ShapeCells>,
}

impl ShapeCells {
    /// Acquires a free cell. If all slabs are full, this method creates another one. The `allocate`
    /// function returns a block of the given size for the slab.
    pub(crate) fn take(
        self: &Arc<Self>,
        allocate: impl FnOnce(usize) -> Result<Address, CudaError>,
    ) -> Result<ShapeCell, CudaError> {
        let taken = self.slabs().iter_mut().find_map(Slab::take);
        let address = match taken {
            Some(address) => address,
            None => self.take_of_new_slab(allocate)?,
        };
        Ok(ShapeCell { address, home: Arc::clone(self) })
    }

    /// Allocates a new slab and acquires its first cell.
    #[cold]
    fn take_of_new_slab(
        &self,
        allocate: impl FnOnce(usize) -> Result<Address, CudaError>,
    ) -> Result<Address, CudaError> {
        // The first cell's bit is clear because that cell is in use. All other cells are free.
        let mut link = Chain::of(Slab { address: 0, free: !1 })?;
        let address = allocate(CELLS * CELL_BYTES)?;
        link.iter_mut().for_each(|slab| slab.address = address);
        self.slabs().add(link);
        Ok(address)
    }

    /// Removes and returns all slabs so that they can be freed. No code may use a shape after this
    /// call.
    pub(crate) fn take_slabs(&self) -> Chain<Slab> {
        std::mem::take(&mut *self.slabs())
    }

    fn slabs(&self) -> MutexGuard<'_, Chain<Slab>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slab {
    /// Returns the device address of the slab's block.
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

    /// Marks a cell as free, and returns `true` if the cell belongs to this slab.
    fn put_back(&mut self, address: Address) -> bool {
        let cell = address.wrapping_sub(self.address) / CELL_BYTES as Address;
        let is_within = cell < CELLS as Address;
        if is_within {
            self.free |= 1 << cell;
        }
        is_within
    }
}

impl ShapeCell {
    /// Returns the device address of the cell.
    pub(crate) fn address(&self) -> Address {
        self.address
    }
}

impl Drop for ShapeCell {
    fn drop(&mut self) {
        self.home.slabs().iter_mut().any(|slab| slab.put_back(self.address));
    }
}

impl fmt::Debug for ShapeCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ShapeCell").field(&self.address).finish()
    }
}
