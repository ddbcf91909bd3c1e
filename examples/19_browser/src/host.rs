//! A filter on the host. Each frame is smoothed along rows and then along columns, and its edges
//! are drawn on top. The temporaries come from a pool or are allocated.

use pool_facade::CpuError;
use pool_facade::prelude::*;

/// Smooths the levels of a plane over five pixels along a row, with the weights 1, 4, 6, 4 and 1.
fn smooth_rows(side: usize, from: &[u16], to: &mut [u16]) {
    for (row, to) in from.chunks_exact(side).zip(to.chunks_exact_mut(side)) {
        for (x, to) in to.iter_mut().enumerate() {
            *to = weighted(|offset| row[near(x, offset, side)]);
        }
    }
}

/// Returns the smoothed rows of a square of grey levels.
#[must_use]
pub fn smoothed_rows(side: usize, greys: &[u8]) -> Vec<u16> {
    let levels: Vec<u16> = greys.iter().map(|grey| u16::from(*grey)).collect();
    let mut smooth = vec![0; levels.len()];
    smooth_rows(side, &levels, &mut smooth);
    smooth
}

/// Smooths along columns in the same way.
fn smooth_columns(side: usize, from: &[u16], to: &mut [u16]) {
    for (y, to) in to.chunks_exact_mut(side).enumerate() {
        for (x, to) in to.iter_mut().enumerate() {
            *to = weighted(|offset| from[near(y, offset, side) * side + x]);
        }
    }
}

/// Returns the position `offset - 2` pixels after `at`, limited to the ends of the row.
fn near(at: usize, offset: usize, side: usize) -> usize {
    (at + offset).saturating_sub(2).min(side - 1)
}

fn weighted(level: impl Fn(usize) -> u16) -> u16 {
    let ends = level(0) + level(4);
    let sides = level(1) + level(3);
    (ends + 4 * sides + 6 * level(2)) / 16
}

/// The temporaries of a frame.
struct Planes<'a> {
    levels: &'a mut [u16],
    half_smooth: &'a mut [u16],
    smooth: &'a mut [u16],
}

/// Filters a frame, and writes a picture in red, green, blue and alpha.
fn filter(side: usize, greys: &[u8], planes: Planes<'_>, picture: &mut [u8]) {
    let Planes { levels, half_smooth, smooth } = planes;
    for (level, grey) in levels.iter_mut().zip(greys) {
        *level = u16::from(*grey);
    }
    smooth_rows(side, levels, half_smooth);
    smooth_columns(side, half_smooth, smooth);
    for (index, pixel) in picture.chunks_exact_mut(4).enumerate() {
        let (x, y) = (index % side, index / side);
        let right = smooth[y * side + near(x, 3, side)];
        let below = smooth[near(y, 3, side) * side + x];
        let here = smooth[index];
        let edge = (8 * (right.abs_diff(here) + below.abs_diff(here))).min(255);
        let level = |share: u16| {
            let mixed = (here * (255 - edge) + share * edge) / 255;
            mixed.to_le_bytes()[0]
        };
        pixel.copy_from_slice(&[level(255), level(140), level(26), 255]);
    }
}

/// Filters frames with temporaries from a pool.
#[derive(Debug)]
pub struct HostFilter {
    side: usize,
    pool: Pool<Cpu>,
}

impl HostFilter {
    /// Creates a filter for square frames.
    #[must_use]
    pub fn new(side: usize) -> Self {
        Self { side, pool: Pool::new(()) }
    }

    /// Returns a picture in red, green, blue and alpha. The temporaries come from the pool.
    ///
    /// # Errors
    ///
    /// Fails if memory runs out.
    pub fn with_pool(&mut self, greys: &[u8]) -> Result<Vec<u8>, PoolError<CpuError>> {
        let scope = self.pool.scope();
        let pixels = self.side * self.side;
        let planes = Planes {
            levels: scope.try_acquire(pixels)?,
            half_smooth: scope.try_acquire(pixels)?,
            smooth: scope.try_acquire(pixels)?,
        };
        let mut picture = vec![0; 4 * pixels];
        filter(self.side, greys, planes, &mut picture);
        Ok(picture)
    }

    /// Returns the same picture, with allocated temporaries.
    #[must_use]
    pub fn with_vec(&self, greys: &[u8]) -> Vec<u8> {
        let pixels = self.side * self.side;
        let [mut levels, mut half_smooth, mut smooth] = [(); 3].map(|()| vec![0; pixels]);
        let planes =
            Planes { levels: &mut levels, half_smooth: &mut half_smooth, smooth: &mut smooth };
        let mut picture = vec![0; 4 * pixels];
        filter(self.side, greys, planes, &mut picture);
        picture
    }

    /// Returns the bytes that the pool holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pool.stats().reserved_bytes
    }
}

/// Acquires three arrays in each of many scopes, and writes to each. Returns a sum, so that the
/// compiler removes nothing.
#[must_use]
pub fn three_arrays_pooled(pool: &mut Pool<Cpu>, scopes: u32, length: usize) -> u64 {
    let mut sum = 0;
    for number in 0..scopes {
        let scope = pool.scope();
        let (a, b, c) = (scope.acquire(length), scope.acquire(length), scope.acquire(length));
        sum += touch(number, a, b, c);
    }
    sum
}

/// Does the same with vectors.
#[must_use]
pub fn three_arrays_allocated(scopes: u32, length: usize) -> u64 {
    let mut sum = 0;
    for number in 0..scopes {
        let [mut a, mut b, mut c] = [(); 3].map(|()| Vec::with_capacity(length));
        a.resize(length, 0);
        b.resize(length, 0);
        c.resize(length, 0);
        sum += touch(number, &mut a, &mut b, &mut c);
    }
    sum
}

/// Writes the first element of each array. This function is not inlined, so that the compiler
/// cannot remove the arrays.
#[inline(never)]
fn touch(number: u32, a: &mut [u32], b: &mut [u32], c: &mut [u32]) -> u64 {
    for array in [a, b, c] {
        if let Some(first) = array.first_mut() {
            *first = number;
        }
    }
    3 * u64::from(number)
}

/// The number of the frame whose picture has the checksum [`EXPECTED`].
pub const CHECKED_FRAME: u32 = 77;
/// The number of pixels along each side of this frame.
pub const CHECKED_SIDE: u32 = 200;
/// The checksum of the picture of this frame.
pub const EXPECTED: u32 = 3_376_226_667;

#[cfg(test)]
mod tests {
    use pool_facade::prelude::*;

    use super::{
        CHECKED_FRAME, CHECKED_SIDE, EXPECTED, HostFilter, three_arrays_allocated,
        three_arrays_pooled,
    };
    use crate::film::{checksum, frame};

    #[test]
    fn the_picture_has_the_bits_that_the_page_has() {
        let greys = frame(CHECKED_FRAME, CHECKED_SIDE);
        let mut filter = HostFilter::new(CHECKED_SIDE as usize);
        let picture = filter.with_pool(&greys).unwrap();
        assert_eq!(checksum(&picture), EXPECTED);
        assert_eq!(filter.with_vec(&greys), picture);
        // The picture must not consist of a single colour.
        let mut pixels: Vec<_> = picture.chunks_exact(4).collect();
        pixels.sort_unstable();
        pixels.dedup();
        assert!(pixels.len() > 500, "{}", pixels.len());
    }

    #[test]
    fn a_film_moves() {
        let frames: Vec<_> = (0..50).map(|number| checksum(&frame(number, 64))).collect();
        let mut different = frames.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), frames.len());
    }

    #[test]
    fn both_kinds_of_arrays_are_written() {
        let mut pool = Pool::<Cpu>::new(());
        let sum = three_arrays_pooled(&mut pool, 100, 64);
        assert_eq!(sum, three_arrays_allocated(100, 64));
        assert_eq!(pool.stats().growths, 3);
    }
}
