//! The algebra on the host: loops over slices.

use pool_facade::{Cpu, Scope};

use super::arithmetic::{Algebra, Failure};
use super::matrix::Matrix;
use super::number::{Number, Precision};
use super::target::Computation;

/// Runs a computation on the host.
pub(super) fn run<C: Computation>(
    computation: &C,
    precision: Precision,
) -> Result<C::Answer, Failure> {
    match precision {
        Precision::F32 => computation.run::<Cpu, f32, _>(&Loops, ()),
        Precision::F64 => computation.run::<Cpu, f64, _>(&Loops, ()),
    }
}

/// Implements the algebra with loops over slices.
struct Loops;

impl<T: Number> Algebra<Cpu, T> for Loops {
    fn multiply(
        &self,
        _: &Scope<'_, Cpu>,
        matrix: &Matrix<'_, Cpu, T>,
        x: &[T],
        to: &mut &mut [T],
    ) -> Result<(), Failure> {
        for (to, row) in to.iter_mut().zip(matrix.starts().windows(2)) {
            let row = row[0] as usize..row[1] as usize;
            let products = matrix.values()[row.clone()].iter().zip(&matrix.columns()[row]);
            *to = products.fold(T::ZERO, |sum, (value, at)| value.mul_add(x[*at as usize], sum));
        }
        Ok(())
    }

    fn add(&self, _: &Scope<'_, Cpu>, x: &[T], y: &mut &mut [T]) -> Result<(), Failure> {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = *y + *x);
        Ok(())
    }

    fn dot(&self, _: &Scope<'_, Cpu>, x: &[T], y: &[T], to: &mut &mut [T]) -> Result<(), Failure> {
        to[0] = x.iter().zip(y).fold(to[0], |sum, (x, y)| x.mul_add(*y, sum));
        Ok(())
    }

    fn add_ratio(
        &self,
        _: &Scope<'_, Cpu>,
        (numerator, denominator): (&[T], &[T]),
        sign: T,
        x: &[T],
        y: &mut &mut [T],
    ) -> Result<(), Failure> {
        let factor = sign * (numerator[0] / denominator[0]);
        y.iter_mut().zip(x).for_each(|(y, x)| *y = factor.mul_add(*x, *y));
        Ok(())
    }

    fn scale_by_ratio(
        &self,
        _: &Scope<'_, Cpu>,
        (numerator, denominator): (&[T], &[T]),
        x: &[T],
        y: &mut &mut [T],
    ) -> Result<(), Failure> {
        let factor = numerator[0] / denominator[0];
        y.iter_mut().zip(x).for_each(|(y, x)| *y = factor.mul_add(*y, *x));
        Ok(())
    }
}
