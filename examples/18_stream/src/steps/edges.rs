//! Sobel's gradients in 16-bit signed numbers, and the ridges of the gradients' steepness.

use crate::plane::Plane;

/// The minimum steepness of an edge, out of 32,640.
const STEEP: u16 = 2_400;

/// Computes the derivatives from left to right and from top to bottom, which are 0 on the border.
pub(crate) fn gradients(
    greys: Plane<&[u16]>,
    mut across: Plane<&mut [i16]>,
    mut down: Plane<&mut [i16]>,
) {
    let (width, height) = (greys.size.width, greys.size.height);
    for y in 0..height {
        let (across, down) = (across.row_mut(y), down.row_mut(y));
        if y == 0 || y == height - 1 {
            across.fill(0);
            down.fill(0);
            continue;
        }
        let [above, here, below] = [y - 1, y, y + 1].map(|y| greys.row(y));
        for edge in [0, width - 1] {
            (across[edge], down[edge]) = (0, 0);
        }
        let inside = width - 2;
        let [above, here, below] = [above, here, below]
            .map(|row| [&row[..inside], &row[1..][..inside], &row[2..][..inside]]);
        let (across, down) = (&mut across[1..][..inside], &mut down[1..][..inside]);
        for x in 0..inside {
            // A grey level has 12 bits, so the sum of four fits into 16 bits.
            let at = |row: &[&[u16]; 3], column: usize| row[column][x] as i16;
            let (left, right) = (
                at(&above, 0) + 2 * at(&here, 0) + at(&below, 0),
                at(&above, 2) + 2 * at(&here, 2) + at(&below, 2),
            );
            let (top, bottom) = (
                at(&above, 0) + 2 * at(&above, 1) + at(&above, 2),
                at(&below, 0) + 2 * at(&below, 1) + at(&below, 2),
            );
            across[x] = right - left;
            down[x] = bottom - top;
        }
    }
}

/// Computes the steepness in any direction.
pub(crate) fn steepness(across: &[i16], down: &[i16], steep: &mut [u16]) {
    for ((steep, across), down) in steep.iter_mut().zip(across).zip(down) {
        *steep = across.unsigned_abs() + down.unsigned_abs();
    }
}

/// Writes 255 to pixels that are steep and are the steepest across the edge, and 0 to all others.
pub(crate) fn ridges(steep: Plane<&[u16]>, across: &[i16], down: &[i16], marks: &mut [u8]) {
    let (width, height) = (steep.size.width, steep.size.height);
    marks.fill(0);
    for y in 1..height - 1 {
        for here in y * width + 1..(y + 1) * width - 1 {
            let own = steep.pixels[here];
            if own < STEEP {
                continue;
            }
            let level = across[here].unsigned_abs() >= down[here].unsigned_abs();
            let step = if level { 1 } else { width };
            // Only one comparison is strict, so exactly one of two equal neighbours is kept.
            if own > steep.pixels[here - step] && own >= steep.pixels[here + step] {
                marks[here] = 255;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{gradients, ridges, steepness};
    use crate::plane::Plane;
    use crate::size::Size;

    #[test]
    fn a_step_is_one_line_of_marks() {
        let size = Size { width: 12, height: 9 };
        for is_level in [false, true] {
            let bright = |index: usize| if is_level { index / 12 >= 5 } else { index % 12 >= 5 };
            let greys: Vec<u16> =
                (0..108).map(|index| if bright(index) { 4_000 } else { 500 }).collect();
            let [mut across, mut down] = [vec![7; 108], vec![7; 108]];
            let of_down = Plane { size, pixels: &mut *down };
            gradients(
                Plane { size, pixels: &greys },
                Plane { size, pixels: &mut *across },
                of_down,
            );
            let mut steep = vec![7; 108];
            steepness(&across, &down, &mut steep);
            let mut marks = vec![7; 108];
            ridges(Plane { size, pixels: &steep }, &across, &down, &mut marks);
            let found: Vec<usize> = (0..108).filter(|index| marks[*index] == 255).collect();
            let expected: Vec<usize> = if is_level {
                (1..11).map(|x| 4 * 12 + x).collect()
            } else {
                (1..8).map(|y| y * 12 + 4).collect()
            };
            assert_eq!(found, expected);
            assert!(marks.iter().all(|mark| [0, 255].contains(mark)));
        }
    }
}
