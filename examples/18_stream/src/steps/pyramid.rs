//! 12-bit grey levels, and the same picture at half size. The filter has the weights 1 4 6 4 1, in
//! sixteenths, along each axis, at every second pixel. Sums along rows fit in exactly 16 bits.

use crate::plane::Plane;

/// The largest grey level, in 12 bits.
#[cfg(test)]
const WHITE: u16 = (255 * 256) >> 4;

/// Converts red, green and blue to grey levels, weighted by how bright they look.
pub(crate) fn greys(picture: &[u8], greys: &mut [u16]) {
    for (grey, pixel) in greys.iter_mut().zip(picture.chunks_exact(3)) {
        let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(u16::from);
        *grey = (77 * red + 150 * green + 29 * blue) >> 4;
    }
}

/// Halves the length of each row. The results are in sixteenths.
pub(crate) fn halve_rows(from: Plane<&[u16]>, mut rows: Plane<&mut [u16]>) {
    let last = from.size.width - 1;
    for y in 0..from.size.height {
        let from = from.row(y);
        for (x, out) in rows.row_mut(y).iter_mut().enumerate() {
            let at = |by: usize| from[(2 * x + by).saturating_sub(2).min(last)];
            *out = at(0) + 4 * at(1) + 6 * at(2) + 4 * at(3) + at(4);
        }
    }
}

/// Halves the length of each column of such rows.
#[expect(clippy::cast_possible_truncation, reason = "a mean of 12-bit numbers")]
pub(crate) fn halve_columns(rows: Plane<&[u16]>, mut half: Plane<&mut [u16]>) {
    for y in 0..half.size.height {
        let [a, b, c, d, e] = [-2, -1, 0, 1, 2].map(|by| rows.row_near(2 * y, by));
        for (x, out) in half.row_mut(y).iter_mut().enumerate() {
            let [a, b, c, d, e] = [a[x], b[x], c[x], d[x], e[x]].map(u32::from);
            *out = ((a + 4 * b + 6 * c + 4 * d + e) >> 8) as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WHITE, greys, halve_columns, halve_rows};
    use crate::plane::Plane;
    use crate::size::Size;

    #[test]
    fn white_stays_white_at_half_the_size() {
        let size = Size { width: 33, height: 34 };
        let mut white = vec![0; size.pixels()];
        greys(&vec![255; 3 * size.pixels()], &mut white);
        assert!(white.iter().all(|grey| *grey == WHITE));
        let half = size.halved(1);
        let between = Size { width: half.width, height: size.height };
        let mut rows = vec![0; between.pixels()];
        halve_rows(Plane { size, pixels: &white }, Plane { size: between, pixels: &mut rows });
        let mut smaller = vec![0; half.pixels()];
        halve_columns(
            Plane { size: between, pixels: &rows },
            Plane { size: half, pixels: &mut smaller },
        );
        assert_eq!(smaller, vec![WHITE; half.pixels()]);
    }
}
