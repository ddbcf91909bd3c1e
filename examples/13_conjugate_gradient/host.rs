//! The algebra of the method on the host: loops over slices.

use pool_facade::{Cpu, CpuError, PoolError, Scope};

use crate::problem;
use crate::solver::{Algebra, Matrix};

pub(crate) struct Loops;

type Done = Result<(), PoolError<CpuError>>;

impl Algebra<Cpu> for Loops {
    type Error = PoolError<CpuError>;

    fn multiply(
        &self,
        _: &Scope<'_, Cpu>,
        matrix: &Matrix<'_, Cpu>,
        x: &&mut [f64],
        to: &mut &mut [f64],
    ) -> Done {
        problem::multiply(matrix.values, matrix.columns, matrix.starts, x, to);
        Ok(())
    }

    fn dot(&self, _: &Scope<'_, Cpu>, x: &&mut [f64], y: &&mut [f64], to: &mut &mut [f64]) -> Done {
        to[0] += x.iter().zip(y.iter()).map(|(x, y)| x * y).sum::<f64>();
        Ok(())
    }

    fn add_ratio(
        &self,
        _: &Scope<'_, Cpu>,
        (numerator, denominator): (&&mut [f64], &&mut [f64]),
        sign: f64,
        x: &&mut [f64],
        y: &mut &mut [f64],
    ) -> Done {
        let factor = sign * (numerator[0] / denominator[0]);
        y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = factor.mul_add(*x, *y));
        Ok(())
    }

    fn scale_by_ratio(
        &self,
        _: &Scope<'_, Cpu>,
        (numerator, denominator): (&&mut [f64], &&mut [f64]),
        x: &&mut [f64],
        y: &mut &mut [f64],
    ) -> Done {
        let factor = numerator[0] / denominator[0];
        y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = factor.mul_add(*y, *x));
        Ok(())
    }
}
