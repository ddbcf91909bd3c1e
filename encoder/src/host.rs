//! The encoder's operations on the host: products by faer, all else as loops over slices. One
//! thread.
//!
//! The loops are simple, so that a compiler vectorises them. pulp compiles them a second time for
//! processors with AVX2, and selects at run time. They call no library function for each number;
//! without FMA at compile time `f32::mul_add` would.

mod functions;
mod loops;
mod panels;

use std::borrow::Cow;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use pool_facade::{PoolBackend, Scope};
use pulp::Arch;

use self::functions::dot;
use self::loops::{AddAndNormalize, Gelu, Softmax};
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

    fn arranged<'n>(&self, inner: usize, weight: Cow<'n, [f32]>) -> Cow<'n, [f32]> {
        panels::arranged(inner, &weight).into()
    }

    fn dense(
        &self,
        _: &Scope<'_, B>,
        x: &[f32],
        (weight, bias): (&[f32], &[f32]),
        start: usize,
        to: &mut &mut [f32],
    ) -> Result<(), Failure> {
        let product = Product::dense([x.len(), weight.len(), bias.len()], start)?;
        product.check((x.len(), weight.len()), Some(bias.len()), to.len())?;
        // `to` may then end before its start.
        if product.rows == 0 {
            return Ok(());
        }
        panels::multiply(product.inner, x, weight, bias, &mut to[start..]);
        Ok(())
    }

    fn gelu(&self, _: &Scope<'_, B>, y: &mut &mut [f32]) -> Result<(), Failure> {
        Arch::new().dispatch(Gelu { y });
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
        Arch::new().dispatch(Softmax { columns, length, y });
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
        Arch::new().dispatch(AddAndNormalize { update, norm: (scale, shift, epsilon), y });
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
            // The mean equals the sum after both are scaled to length 1.
            let inverse = 1.0 / dot(to).sqrt();
            to.iter_mut().for_each(|to| *to *= inverse);
        }
        Ok(())
    }
}

/// Returns rows of a slice as a matrix of faer.
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

/// Returns the same for writing. In faer 0.24 the strides of `from_row_major_slice_with_stride_mut`
/// are swapped.
fn matrix_mut(numbers: &mut [f32], row: usize, rows: usize, columns: usize) -> MatMut<'_, f32> {
    MatMut::from_column_major_slice_with_stride_mut(numbers, columns, rows, row).transpose_mut()
}

#[cfg(test)]
mod tests {
    use pool_facade::{Cpu, Pool};

    use super::Host;
    use crate::algebra::Algebra;

    #[test]
    fn a_dense_step_of_no_rows_writes_nothing_wherever_it_starts() {
        let mut pool = Pool::<Cpu>::new(());
        let scope = pool.scope();
        let (weight, bias) = ([1.0; 6], [1.0; 2]);
        let mut numbers = [0.0; 4];
        for start in [0, 4, 5] {
            let to = &mut numbers.as_mut_slice();
            Algebra::<Cpu>::dense(&Host, &scope, &[], (&weight, &bias), start, to).unwrap();
        }
        assert_eq!(numbers, [0.0; 4]);
        let to = &mut numbers.as_mut_slice();
        assert!(Algebra::<Cpu>::dense(&Host, &scope, &[1.0; 3], (&weight, &bias), 3, to).is_err());
    }
}
