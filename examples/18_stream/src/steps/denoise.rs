//! A median over 3 × 3 pixels for each colour, which removes specks and keeps edges. Each column of
//! three pixels is sorted first. The median of nine pixels is then the median of three numbers: the
//! largest of the low ones, the median of the middle ones, and the smallest of the high ones.

use crate::size::Size;

/// The number of bytes per pixel.
const COLOURS: usize = 3;

/// Sorts each pixel together with the pixels above and below it.
pub(crate) fn sort_columns(size: Size, raw: &[u8], [low, mid, high]: [&mut [u8]; 3]) {
    let width = COLOURS * size.width;
    let row = |y: usize| &raw[y * width..(y + 1) * width];
    for y in 0..size.height {
        let (above, here) = (row(y.saturating_sub(1)), row(y));
        let below = row((y + 1).min(size.height - 1));
        let range = y * width..(y + 1) * width;
        let sorted =
            low[range.clone()].iter_mut().zip(&mut mid[range.clone()]).zip(&mut high[range]);
        let columns = above.iter().zip(here).zip(below);
        for (((low, mid), high), ((above, here), below)) in sorted.zip(columns) {
            let (least, most) = (*above.min(here), *above.max(here));
            *low = least.min(*below);
            *mid = least.max(most.min(*below));
            *high = most.max(*below);
        }
    }
}

/// Computes the medians of nine pixels from sorted columns. At both ends of a row, the result is
/// the median of three.
pub(crate) fn medians(size: Size, [low, mid, high]: [&[u8]; 3], clean: &mut [u8]) {
    let width = COLOURS * size.width;
    for y in 0..size.height {
        let range = y * width..(y + 1) * width;
        let (low, mid, high) = (&low[range.clone()], &mid[range.clone()], &high[range.clone()]);
        let out = &mut clean[range];
        out[..COLOURS].copy_from_slice(&mid[..COLOURS]);
        out[width - COLOURS..].copy_from_slice(&mid[width - COLOURS..]);
        let inside = width - 2 * COLOURS;
        let [low, mid, high] = [low, mid, high]
            .map(|row| [&row[..inside], &row[COLOURS..][..inside], &row[2 * COLOURS..][..inside]]);
        for (x, out) in out[COLOURS..][..inside].iter_mut().enumerate() {
            let largest = low[0][x].max(low[1][x]).max(low[2][x]);
            let middle = median(mid[0][x], mid[1][x], mid[2][x]);
            let smallest = high[0][x].min(high[1][x]).min(high[2][x]);
            *out = median(largest, middle, smallest);
        }
    }
}

fn median(a: u8, b: u8, c: u8) -> u8 {
    a.min(b).max(a.max(b).min(c))
}

#[cfg(test)]
mod tests {
    use super::{medians, sort_columns};
    use crate::size::Size;

    fn denoised(size: Size, raw: &[u8]) -> Vec<u8> {
        let [mut low, mut mid, mut high] = [(); 3].map(|()| vec![0; raw.len()]);
        sort_columns(size, raw, [&mut low, &mut mid, &mut high]);
        let mut clean = vec![0; raw.len()];
        medians(size, [&low, &mid, &high], &mut clean);
        clean
    }

    /// Compares the result with a median that sorts all nine pixels.
    #[test]
    fn it_is_the_median_of_nine() {
        let size = Size { width: 9, height: 7 };
        let raw: Vec<u8> = (0..3 * 63_u32).map(|n| (n * 97 % 251) as u8).collect();
        let clean = denoised(size, &raw);
        for (y, x, colour) in
            (1..6).flat_map(|y| (1..8).flat_map(move |x| (0..3).map(move |c| (y, x, c))))
        {
            let at = |y: usize, x: usize| raw[(y * 9 + x) * 3 + colour];
            let mut nine: Vec<u8> = (0..9).map(|n| at(y + n / 3 - 1, x + n % 3 - 1)).collect();
            nine.sort_unstable();
            assert_eq!(clean[(y * 9 + x) * 3 + colour], nine[4], "at {x}, {y}");
        }
    }

    #[test]
    fn a_speck_goes_and_an_edge_stays() {
        let size = Size { width: 8, height: 8 };
        let edge: Vec<u8> = (0..192).map(|n| if n / 3 % 8 < 4 { 10 } else { 200 }).collect();
        let mut specked = edge.clone();
        specked[(3 * 8 + 2) * 3] = 255;
        assert_eq!(denoised(size, &specked), edge);
    }
}
