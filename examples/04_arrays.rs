//! Arrays of any rank: computes the largest eigenvalue of a matrix with the power method.
//!
//! ```text
//! cargo run --release --example 04_arrays
//! ```

use std::error::Error;

use pool_facade::prelude::*;

type Matrix<'s> = NdView<&'s mut [f64], [usize; 2]>;

/// Returns a matrix with 2 on the diagonal and -1 next to the diagonal. A helper may return an
/// array that it acquired.
fn laplacian<'s>(scope: &Scope<'s, Cpu>, size: usize) -> Matrix<'s> {
    scope.acquire_with([size, size], |[row, column]| match row.abs_diff(column) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    })
}

/// Returns the largest eigenvalue. For this matrix, the exact value is 2 + 2 cos(π / (n + 1)).
fn largest_eigenvalue(scope: &mut Scope<'_, Cpu>, matrix: &Matrix<'_>, steps: usize) -> f64 {
    let [size, _] = matrix.dims();
    let vector = scope.acquire_with(size, |row| if row % 2 == 0 { 1.0 } else { -1.0 });
    let mut value = 0.0;
    for _ in 0..steps {
        let inner = scope.scope();
        let image = inner.acquire_with(size, |row| {
            (0..size).map(|column| matrix[[row, column]] * vector[column]).sum::<f64>()
        });
        value = image.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        vector.iter_mut().zip(image).for_each(|(entry, image)| *entry = *image / value);
    }
    value
}

fn main() -> Result<(), Box<dyn Error>> {
    let size = 8;
    with_pool!(|scope| {
        let matrix = laplacian(&scope, size);
        let found = largest_eigenvalue(&mut scope, &matrix, 500);
        let expected = 2.0 + 2.0 * (std::f64::consts::PI / 9.0).cos();
        println!("largest eigenvalue: {found:.9}, expected {expected:.9}");
        if (found - expected).abs() > 1e-9 {
            return Err("the method did not converge".into());
        }

        // The same memory in another shape, and split into two parts, without a copy.
        let matrix = matrix.reshape([4, 2, size]);
        println!("as {:?}, strides {:?}", matrix.dims(), matrix.strides());
        let (upper, lower) = matrix.split_at(1);
        println!("in parts with the shapes {:?} and {:?}", upper.dims(), lower.dims());

        // The same memory as an `ndarray` array, which supports arithmetic.
        let mut product = scope.acquire_array([size, size]);
        let identity =
            scope.acquire_with([size, size], |[row, column]| f64::from(u8::from(row == column)));
        let mut array = laplacian(&scope, size).into_ndarray();
        array += &identity.into_ndarray();
        product.assign(&array);
        println!("trace after adding the identity: {}", product.diag().sum());
        println!("{}", scope.stats());
        Ok(())
    })
}
