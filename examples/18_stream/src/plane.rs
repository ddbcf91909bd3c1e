//! One number for each pixel, in row-major order, over any storage.

use std::ops::{Deref, DerefMut};

use crate::size::Size;

/// Numbers in rows.
#[derive(Clone, Copy, Debug)]
pub struct Plane<Storage> {
    /// The number of pixels per row, and the number of rows.
    pub size: Size,
    /// The pixels in row-major order.
    pub pixels: Storage,
}

impl<T, Storage: Deref<Target = [T]>> Plane<Storage> {
    /// Returns one row.
    pub(crate) fn row(&self, y: usize) -> &[T] {
        &self.pixels[y * self.size.width..(y + 1) * self.size.width]
    }

    /// Returns the row that is `by` rows below `y`, or above if `by` is negative. At the border,
    /// returns the outermost row.
    pub(crate) fn row_near(&self, y: usize, by: isize) -> &[T] {
        self.row(y.saturating_add_signed(by).min(self.size.height - 1))
    }

    /// Borrows the numbers for reading.
    pub(crate) fn view(&self) -> Plane<&[T]> {
        Plane { size: self.size, pixels: &self.pixels }
    }
}

impl<T, Storage: DerefMut<Target = [T]>> Plane<Storage> {
    pub(crate) fn row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.pixels[y * self.size.width..(y + 1) * self.size.width]
    }

    /// Borrows the numbers for writing.
    pub(crate) fn view_mut(&mut self) -> Plane<&mut [T]> {
        Plane { size: self.size, pixels: &mut self.pixels }
    }
}
