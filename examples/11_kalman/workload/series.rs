//! The moments of all years in two acquired arrays, with one block per year. These arrays outlive
//! each year's scope.

use pool_facade::prelude::*;

use super::{Matrix, Moments, Values};

/// A state and its variance for each year.
#[derive(Debug)]
pub(crate) struct Series<'s> {
    size: usize,
    states: &'s mut [f64],
    variances: &'s mut [f64],
}

impl<'s> Series<'s> {
    /// Acquires room for `years` years, and stores the first year.
    pub(crate) fn starting_with(
        scope: &Scope<'s, Cpu>,
        years: usize,
        first: &Moments<impl Values>,
    ) -> Self {
        let size = first.state.rows;
        let mut series = Self {
            size,
            states: scope.acquire(years * size),
            variances: scope.acquire(years * size * size),
        };
        series.set(0, first);
        series
    }

    /// Copies the same years to new arrays.
    pub(crate) fn copy(&self, scope: &Scope<'s, Cpu>) -> Self {
        Self {
            size: self.size,
            states: scope.acquire_from(&*self.states),
            variances: scope.acquire_from(&*self.variances),
        }
    }

    /// Returns the moments of one year.
    pub(crate) fn at(&self, time: usize) -> Moments<&[f64]> {
        let square = self.size * self.size;
        let (state, variance) = (time * self.size, time * square);
        Moments {
            state: matrix(self.size, 1, &self.states[state..state + self.size]),
            variance: matrix(self.size, self.size, &self.variances[variance..variance + square]),
        }
    }

    /// Iterates over the moments of all years.
    pub(crate) fn years(&self) -> impl Iterator<Item = Moments<&[f64]>> {
        (0..self.states.len() / self.size).map(|time| self.at(time))
    }

    /// Stores the moments of one year.
    pub(crate) fn set(&mut self, time: usize, moments: &Moments<impl Values>) {
        let square = self.size * self.size;
        let (state, variance) = (time * self.size, time * square);
        self.states[state..state + self.size].copy_from_slice(&moments.state.values);
        self.variances[variance..variance + square].copy_from_slice(&moments.variance.values);
    }
}

fn matrix(rows: usize, columns: usize, values: &[f64]) -> Matrix<&[f64]> {
    Matrix { rows, columns, values }
}
