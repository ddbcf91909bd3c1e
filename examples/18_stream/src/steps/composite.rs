//! The displayed frame: the clean picture with its edges in white. It is redder at pixels that move
//! to the right, and bluer at pixels that move down.

use crate::plane::Plane;
use crate::size::Size;

/// The change of colour, in levels per pixel of movement at half size.
const TINT: f32 = 16.0;

/// Composes the frame. `flow` is half as large as the picture.
pub(crate) fn composite(
    size: Size,
    clean: &[u8],
    marks: &[u8],
    [across, down]: [Plane<&[f32]>; 2],
    picture: &mut [u8],
) {
    let row = |of: &Plane<&[f32]>, y: usize| y.min(of.size.height - 1);
    for y in 0..size.height {
        let (across, down) = (across.row(row(&across, y / 2)), down.row(row(&down, y / 2)));
        let range = 3 * y * size.width..3 * (y + 1) * size.width;
        let pixels = picture[range.clone()].chunks_exact_mut(3).zip(clean[range].chunks_exact(3));
        let marks = &marks[y * size.width..(y + 1) * size.width];
        for (x, ((out, clean), mark)) in pixels.zip(marks).enumerate() {
            let half = (x / 2).min(across.len() - 1);
            out[0] = tinted(clean[0], across[half]) | mark;
            out[1] = clean[1] | mark;
            out[2] = tinted(clean[2], down[half]) | mark;
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn tinted(colour: u8, moved: f32) -> u8 {
    (f32::from(colour) + TINT * moved) as u8
}

#[cfg(test)]
mod tests {
    use super::composite;
    use crate::plane::Plane;
    use crate::size::Size;

    #[test]
    fn what_moves_is_tinted_and_edges_are_white() {
        let (size, half) = (Size { width: 4, height: 2 }, Size { width: 2, height: 1 });
        let (clean, mut marks) = ([100; 24], [0; 8]);
        marks[5] = 255;
        let (across, down) = ([0.0, 1.0], [0.0, -2.0]);
        let flow =
            [Plane { size: half, pixels: &across[..] }, Plane { size: half, pixels: &down[..] }];
        let mut picture = [0; 24];
        composite(size, &clean, &marks, flow, &mut picture);
        assert_eq!(picture[..12], [100, 100, 100, 100, 100, 100, 116, 100, 68, 116, 100, 68]);
        assert_eq!(picture[15..18], [255; 3]);
    }
}
