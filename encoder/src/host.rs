//! The encoder's operations on the host: products by faer, everything else as loops over slices. One thread.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use pool_facade::{PoolBackend, Scope};

use crate::algebra::{Algebra, Failure, Layout, NormOf, Product, agree, rows_of};

/// Loops over slices, and faer: for `Cpu`, and for any other backend whose views are slices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

impl<B> Algebra<B> for Host
where
    B: for<'s> PoolBackend<View<'s, f32> = &'s mut [f32], ViewRef<'s, f32> = &'s [f32]>,
    B: for<'s> PoolBackend<ViewRef<'s, u32> = &'s [u32]>,
{
    fn add_rows(
        &self,
        _: &Scope<'_, B>,
        columns: usize,
        table: &[f32],
        indices: &[u32],
        to: &mut &mut [f32],
    ) -> Result<(), Failure> {
        rows_of(table.len(), columns)?;
        agree("rows by index", to.len(), indices.len() * columns)?;
        for (to, index) in to.chunks_exact_mut(columns).zip(indices) {
            if let Some(row) = table.chunks_exact(columns).nth(*index as usize) {
                to.iter_mut().zip(row).for_each(|(to, number)| *to += number);
            }
        }
        Ok(())
    }

    fn multiply(
        &self,
        _: &Scope<'_, B>,
        product: &Product,
        (left, right): (&[f32], &[f32]),
        bias: Option<&[f32]>,
        to: &mut &mut [f32],
    ) -> Result<(), Failure> {
        product.check((left.len(), right.len()), bias.map(<[f32]>::len), to.len())?;
        let &Product { rows, columns, inner, right_is_turned, factor, .. } = product;
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        for index in 0..product.count {
            let left = matrix(left, product.left, index, rows, inner);
            let right = if right_is_turned {
                matrix(right, product.right, index, columns, inner).transpose()
            } else {
                matrix(right, product.right, index, inner, columns)
            };
            let to = &mut to[product.to.at(index)..];
            let before = match bias {
                Some(bias) => {
                    let rows = to.chunks_mut(product.to.row).take(rows);
                    rows.for_each(|row| row[..columns].copy_from_slice(&bias[..columns]));
                    Accum::Add
                }
                None => Accum::Replace,
            };
            matmul(
                matrix_mut(to, product.to.row, rows, columns),
                before,
                left,
                right,
                factor,
                Par::Seq,
            );
        }
        Ok(())
    }

    fn gelu(&self, _: &Scope<'_, B>, y: &mut &mut [f32]) -> Result<(), Failure> {
        for number in y.iter_mut() {
            *number *= 0.5 + 0.5 * erf(*number * FRAC_1_SQRT_2);
        }
        Ok(())
    }

    fn softmax(
        &self,
        _: &Scope<'_, B>,
        columns: usize,
        lengths: &[u32],
        sequence: usize,
        y: &mut &mut [f32],
    ) -> Result<(), Failure> {
        rows_of(y.len(), columns)?;
        let length = lengths.get(sequence).ok_or("no such sequence")?;
        let length = columns.min(*length as usize);
        for row in y.chunks_exact_mut(columns) {
            let (row, beyond) = row.split_at_mut(length);
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let mut sum = 0.0;
            for number in row.iter_mut() {
                *number = (*number - largest).exp();
                sum += *number;
            }
            row.iter_mut().for_each(|number| *number /= sum);
            beyond.fill(0.0);
        }
        Ok(())
    }

    fn add_and_normalize(
        &self,
        _: &Scope<'_, B>,
        update: &[f32],
        (scale, shift, epsilon): NormOf<'_, B>,
        y: &mut &mut [f32],
    ) -> Result<(), Failure> {
        let columns = scale.len();
        rows_of(y.len(), columns)?;
        agree("a norm's shift", shift.len(), columns)?;
        agree("what is added before a norm", update.len(), y.len())?;
        for (y, update) in y.chunks_exact_mut(columns).zip(update.chunks_exact(columns)) {
            y.iter_mut().zip(update).for_each(|(y, update)| *y += update);
            let mean = sum(y) / number_of(columns);
            y.iter_mut().for_each(|y| *y -= mean);
            let variance = dot(y) / number_of(columns);
            let inverse = 1.0 / (variance + epsilon).sqrt();
            for ((y, scale), shift) in y.iter_mut().zip(scale).zip(shift) {
                *y = (*y * inverse).mul_add(*scale, *shift);
            }
        }
        Ok(())
    }

    fn unit_means(
        &self,
        _: &Scope<'_, B>,
        rows_of_each: usize,
        x: &[f32],
        lengths: &[u32],
        to: &mut &mut [f32],
    ) -> Result<(), Failure> {
        let columns = rows_of(to.len(), lengths.len())?;
        agree("sequences to take the mean of", x.len(), lengths.len() * rows_of_each * columns)?;
        to.fill(0.0);
        if columns == 0 || rows_of_each == 0 {
            return Ok(());
        }
        let sequences = x.chunks_exact(rows_of_each * columns).zip(lengths);
        for (to, (sequence, length)) in to.chunks_exact_mut(columns).zip(sequences) {
            for row in sequence.chunks_exact(columns).take(*length as usize) {
                to.iter_mut().zip(row).for_each(|(to, number)| *to += number);
            }
            // The mean is as long as the sum once both have length 1.
            let inverse = 1.0 / dot(to).sqrt();
            to.iter_mut().for_each(|to| *to *= inverse);
        }
        Ok(())
    }
}

/// Rows of a slice as a matrix of faer.
fn matrix(
    numbers: &[f32],
    layout: Layout,
    index: usize,
    rows: usize,
    columns: usize,
) -> MatRef<'_, f32> {
    let numbers = &numbers[layout.at(index)..];
    MatRef::from_column_major_slice_with_stride(numbers, columns, rows, layout.row).transpose()
}

/// The same to be written. faer 0.24 has the strides of `from_row_major_slice_with_stride_mut` the wrong way round.
fn matrix_mut(numbers: &mut [f32], row: usize, rows: usize, columns: usize) -> MatMut<'_, f32> {
    MatMut::from_column_major_slice_with_stride_mut(numbers, columns, rows, row).transpose_mut()
}

/// Sums in as many parts as a processor adds at once.
const PARTS: usize = 16;

fn sum(numbers: &[f32]) -> f32 {
    in_parts(numbers, |sum, number| sum + number)
}

/// The sum of the squares.
fn dot(numbers: &[f32]) -> f32 {
    in_parts(numbers, |sum, number| number.mul_add(number, sum))
}

fn in_parts(numbers: &[f32], add: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0.0; PARTS];
    let parts = numbers.chunks_exact(PARTS);
    let rest = parts.remainder();
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, number)| *sum = add(*sum, *number));
    }
    rest.iter().fold(sums.iter().sum(), |sum, number| add(sum, *number))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a row has fewer numbers than an f32 counts exactly"
)]
fn number_of(columns: usize) -> f32 {
    columns as f32
}

/// The error function, as a ratio of polynomials that differs from it by less than 1e-6 anywhere; it is a loop's body
/// that a compiler can vectorise. The coefficients are those of Eigen and XLA for `f32`.
fn erf(x: f32) -> f32 {
    const ABOVE: [f32; 5] =
        [2.290_506_6e-4, 3.408_291e-3, 5.095_569_5e-2, 0.185_208_32, FRAC_2_SQRT_PI];
    const BELOW: [f32; 7] = [
        -1.179_160_3e-7,
        2.354_796_6e-5,
        1.017_962_5e-3,
        1.407_047e-2,
        0.110_985_05,
        0.497_469_25,
        1.0,
    ];
    let x = x.clamp(-3.743_921_2, 3.743_921_2);
    let square = x * x;
    let polynomial = |coefficients: &[f32]| {
        coefficients.iter().fold(0.0, |value: f32, coefficient| value.mul_add(square, *coefficient))
    };
    x * polynomial(&ABOVE) / polynomial(&BELOW)
}
