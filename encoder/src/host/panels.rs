//! Dense steps by weights that lie in panels, as faer's own kernels read them.
//!
//! A panel is some columns of the transposed weight, row by row. In files, a weight has a row for
//! each output number. faer would transpose and copy all of it at each product, which for a short
//! sentence takes longer than the product itself.

use faer::linalg::matmul::matmul;
use faer::{Accum, Par};

use super::{matrix, matrix_mut};
use crate::algebra::Layout;

/// The columns of a panel: those that faer's widest kernel, for AVX-512, takes at once, and a
/// multiple of all others'.
const WIDTH: usize = 96;
/// The rows of a product that faer takes at once: with one more it would copy the panel.
const ROWS: usize = 12;

/// Returns a weight whose rows have `inner` numbers, in panels. The last may be narrower.
pub(super) fn arranged(inner: usize, weight: &[f32]) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(weight.len());
    for panel in weight.chunks(WIDTH * inner.max(1)) {
        for at in 0..inner {
            numbers.extend(panel.iter().skip(at).step_by(inner));
        }
    }
    numbers
}

/// Multiplies each row of `x`, which has `inner` numbers, by a weight in panels, adds the bias, and writes the adjacent
/// results into `to`.
pub(super) fn multiply(inner: usize, x: &[f32], weight: &[f32], bias: &[f32], to: &mut [f32]) {
    let columns = bias.len();
    let panels = weight.chunks(WIDTH * inner).zip(bias.chunks(WIDTH));
    for ((panel, bias), start) in panels.zip((0..columns).step_by(WIDTH)) {
        let width = bias.len();
        let panel = matrix(panel, Layout::of_rows(width), 0, inner, width);
        for (x, to) in x.chunks(ROWS * inner).zip(to.chunks_mut(ROWS * columns)) {
            let rows = x.len() / inner;
            let x = matrix(x, Layout::of_rows(inner), 0, rows, inner);
            let to = &mut to[start..];
            let of_row = to.chunks_mut(columns).take(rows);
            of_row.for_each(|to| to[..width].copy_from_slice(bias));
            let to = matrix_mut(to, columns, rows, width);
            matmul(to, Accum::Add, x, panel, 1.0, Par::Seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, arranged, multiply};

    #[test]
    fn a_panel_is_some_columns_row_by_row() {
        let rows = u8::try_from(WIDTH + 2).unwrap();
        let weight: Vec<f32> =
            (0..rows).flat_map(|row| [f32::from(row), f32::from(row) + 0.5]).collect();
        let panels = arranged(2, &weight);
        assert_eq!(panels.len(), weight.len());
        assert_eq!((panels[1], panels[WIDTH], panels[2 * WIDTH - 1]), (1.0, 0.5, 95.5));
        assert_eq!(panels[2 * WIDTH..], [96.0, 97.0, 96.5, 97.5]);
        assert!(arranged(0, &[]).is_empty());
    }

    #[test]
    fn products_are_those_of_rows_with_rows() {
        let weight: Vec<f32> = (0..100).flat_map(|row: u8| [f32::from(row), 1.0]).collect();
        let bias: Vec<f32> = (0..100).map(|column: u8| f32::from(column) * 1000.0).collect();
        let x: Vec<f32> = (0..30_u8).map(f32::from).collect();
        let mut to = vec![f32::NAN; 15 * 100];
        multiply(2, &x, &arranged(2, &weight), &bias, &mut to);
        for (row, to) in to.chunks(100).enumerate() {
            for (column, to) in to.iter().enumerate() {
                let right = x[2 * row] * weight[2 * column] + x[2 * row + 1] + bias[column];
                assert_eq!(*to, right, "row {row}, column {column}");
            }
        }
    }
}
