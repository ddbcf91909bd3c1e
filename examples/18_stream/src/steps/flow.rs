//! The optical flow of Lucas and Kanade: the motion of each pixel from the previous frame to the
//! current one, by least squares over 5 × 5 pixels. The flow is refined from the result of a
//! coarser level.

use crate::plane::Plane;

/// A damping term that keeps the equations solvable in regions without texture.
const DAMPING: f32 = 5e-3;
/// The maximum motion per refinement, in pixels.
const FARTHEST: f32 = 2.0;
/// The inverse of the largest grey level.
const UNIT: f32 = 1.0 / 4_096.0;

/// Doubles the size of the flow and its motion.
pub(crate) fn enlarge(from: Plane<&[f32]>, mut to: Plane<&mut [f32]>) {
    for y in 0..to.size.height {
        let from = from.row((y / 2).min(from.size.height - 1));
        for (x, out) in to.row_mut(y).iter_mut().enumerate() {
            *out = 2.0 * from[(x / 2).min(from.len() - 1)];
        }
    }
}

/// Computes the current frame with every pixel moved back to its origin.
pub(crate) fn warp(now: Plane<&[u16]>, [across, down]: [&[f32]; 2], mut back: Plane<&mut [f32]>) {
    let (right, bottom) = ((now.size.width - 1) as f32, (now.size.height - 1) as f32);
    for y in 0..now.size.height {
        let row = y * now.size.width;
        for (x, out) in back.row_mut(y).iter_mut().enumerate() {
            let (x, y) = (x as f32 + across[row + x], y as f32 + down[row + x]);
            *out = UNIT * between(now, x.clamp(0.0, right), y.clamp(0.0, bottom));
        }
    }
}

/// Returns the grey level interpolated between four pixels. Both coordinates must lie within the
/// picture.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped by the caller"
)]
fn between(of: Plane<&[u16]>, x: f32, y: f32) -> f32 {
    let (left, top) = (x as usize, y as usize);
    let right = (left + 1).min(of.size.width - 1);
    let (above, below) = (of.row(top), of.row_near(top, 1));
    let (part_x, part_y) = (x - left as f32, y - top as f32);
    let mix = |from: u16, to: u16| f32::from(from) + part_x * (f32::from(to) - f32::from(from));
    let (above, below) = (mix(above[left], above[right]), mix(below[left], below[right]));
    above + part_y * (below - above)
}

/// Computes the slopes of brightness: to the right and downwards in the previous frame, and over
/// time.
pub(crate) fn slopes(before: Plane<&[u16]>, back: &[f32], [across, down, later]: [&mut [f32]; 3]) {
    let width = before.size.width;
    for y in 0..before.size.height {
        let range = y * width..(y + 1) * width;
        let (above, here, below) = (before.row_near(y, -1), before.row(y), before.row_near(y, 1));
        let (across, down) = (&mut across[range.clone()], &mut down[range.clone()]);
        for (down, (above, below)) in down.iter_mut().zip(above.iter().zip(below)) {
            *down = (f32::from(*below) - f32::from(*above)) * (0.5 * UNIT);
        }
        for (across, three) in across[1..].iter_mut().zip(here.windows(3)) {
            *across = (f32::from(three[2]) - f32::from(three[0])) * (0.5 * UNIT);
        }
        (across[0], across[width - 1]) = (0.0, 0.0);
        let later = later[range.clone()].iter_mut();
        for (later, (back, here)) in later.zip(back[range].iter().zip(here)) {
            *later = back - UNIT * f32::from(*here);
        }
    }
}

/// Multiplies two numbers for each pixel.
pub(crate) fn product(left: &[f32], right: &[f32], out: &mut [f32]) {
    for (out, (left, right)) in out.iter_mut().zip(left.iter().zip(right)) {
        *out = left * right;
    }
}

/// Sums five numbers along a row. Beyond its ends, a row continues with zeros.
pub(crate) fn sum_rows(from: Plane<&[f32]>, mut sums: Plane<&mut [f32]>) {
    let width = from.size.width;
    for y in 0..from.size.height {
        let (from, out) = (from.row(y), sums.row_mut(y));
        for (out, five) in out[2..].iter_mut().zip(from.windows(5)) {
            *out = five[0] + five[1] + five[2] + five[3] + five[4];
        }
        for edge in [0, 1, width - 2, width - 1] {
            out[edge] = from[edge.saturating_sub(2)..(edge + 3).min(width)].iter().sum();
        }
    }
}

/// Sums five numbers along a column. Beyond its ends, a column continues with its last number.
pub(crate) fn sum_columns(from: Plane<&[f32]>, mut sums: Plane<&mut [f32]>) {
    for y in 0..from.size.height {
        let [a, b, c, d, e] = [-2, -1, 0, 1, 2].map(|by| from.row_near(y, by));
        for (x, out) in sums.row_mut(y).iter_mut().enumerate() {
            *out = a[x] + b[x] + c[x] + d[x] + e[x];
        }
    }
}

/// Five sums for each pixel. They are the products of the slopes to the right and down with
/// themselves, with each other, and with the slope over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums<'s> {
    pub(crate) right_right: &'s [f32],
    pub(crate) right_down: &'s [f32],
    pub(crate) down_down: &'s [f32],
    pub(crate) right_time: &'s [f32],
    pub(crate) down_time: &'s [f32],
}

/// Adds the least-squares solution of the equations to the flow.
pub(crate) fn refine(sums: Sums<'_>, [across, down]: [&mut [f32]; 2]) {
    for (pixel, (across, down)) in across.iter_mut().zip(down).enumerate() {
        let (a, b, c) = (
            sums.right_right[pixel] + DAMPING,
            sums.right_down[pixel],
            sums.down_down[pixel] + DAMPING,
        );
        let (p, q) = (sums.right_time[pixel], sums.down_time[pixel]);
        let scale = 1.0 / (a * c - b * b);
        *across += ((b * q - c * p) * scale).clamp(-FARTHEST, FARTHEST);
        *down += ((b * p - a * q) * scale).clamp(-FARTHEST, FARTHEST);
    }
}

#[cfg(test)]
mod tests {
    use super::{sum_columns, sum_rows, warp};
    use crate::plane::Plane;
    use crate::size::Size;

    #[test]
    fn sums_are_those_of_five_by_five() {
        let size = Size { width: 11, height: 9 };
        let numbers: Vec<f32> = (0..99_u16).map(|n| f32::from(n * 31 % 17)).collect();
        let [mut rows, mut sums] = [vec![0.0; 99], vec![0.0; 99]];
        sum_rows(Plane { size, pixels: &*numbers }, Plane { size, pixels: &mut *rows });
        sum_columns(Plane { size, pixels: &*rows }, Plane { size, pixels: &mut *sums });
        for (y, x) in (2..7).flat_map(|y| (0..11_usize).map(move |x| (y, x))) {
            let columns = x.saturating_sub(2)..(x + 3).min(11);
            let of_row = |y: usize| columns.clone().map(|x| numbers[y * 11 + x]).sum::<f32>();
            assert_eq!(sums[y * 11 + x], (y - 2..=y + 2).map(of_row).sum::<f32>(), "{x}, {y}");
        }
    }

    #[test]
    fn a_warp_by_one_pixel_is_the_neighbour() {
        let size = Size { width: 8, height: 4 };
        let greys: Vec<u16> = (0..32).map(|n| n * 100).collect();
        let mut back = vec![0.0; 32];
        let [right, down] = [vec![1.0; 32], vec![0.0; 32]];
        warp(Plane { size, pixels: &*greys }, [&right, &down], Plane { size, pixels: &mut *back });
        assert_eq!(back[3] * 4_096.0, 400.0);
        assert_eq!(back[7] * 4_096.0, 700.0, "pixels beyond the border repeat the last pixel");
    }
}
