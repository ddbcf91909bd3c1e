//! Device memory for the shapes of one pool: cells of one size, cut from blocks that are freed when
//! the pool ends.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pool_driver::calls::Address;
use pool_driver::chain::Chain;
use pool_driver::error::CudaError;

/// The most axes of a shape on the device.
pub(crate) const MOST_AXES: usize = 15;

/// The numbers of one shape: the rank, a start, and the lengths and strides of all axes.
pub(crate) const NUMBERS: usize = 2 + 2 * MOST_AXES;

/// The bytes of one shape.
const CELL_BYTES: usize = NUMBERS * 8;

/// The cells of one slab: a bit for each.
const CELLS: usize = u64::BITS as usize;

/// The slabs of one pool. Locked only to take or return a cell, to link and to unlink, and for no
/// call of the driver.
#[derive(Debug, Default)]
pub(crate) struct ShapeCells(Mutex<Chain<Slab>>);

/// A block of the device that is cut into cells.
#[derive(Debug)]
pub(crate) struct Slab {
    address: Address,
    /// A bit for each cell that is free.
    free: u64,
}

/// A place for one shape, returned on drop. It is written in the order of the pool's stream, so all
/// reads of the old shape precede the next shape.
pub(crate) struct ShapeCell {
    address: Address,
    home: Arc<ShapeCells>,
}

impl ShapeCells {
    /// Takes a free cell, of a new slab if there is none. `allocate` creates a block of the given
    /// number of bytes.
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

    /// Takes the first cell of a new slab.
    #[cold]
    fn take_of_new_slab(
        &self,
        allocate: impl FnOnce(usize) -> Result<Address, CudaError>,
    ) -> Result<Address, CudaError> {
        // All cells are free but the first one, which is at the start of the slab.
        let mut link = Chain::of(Slab { address: 0, free: !1 })?;
        let address = allocate(CELLS * CELL_BYTES)?;
        link.iter_mut().for_each(|slab| slab.address = address);
        self.slabs().add(link);
        Ok(address)
    }

    /// Takes the slabs for freeing. No shape is in use any more.
    pub(crate) fn take_slabs(&self) -> Chain<Slab> {
        std::mem::take(&mut *self.slabs())
    }

    fn slabs(&self) -> MutexGuard<'_, Chain<Slab>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slab {
    /// Returns the start of the slab's block on the device.
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

    /// Takes a cell back if it belongs to this slab. Returns `true` if it does.
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
    /// Returns the address of the cell on the device.
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
