//! Converts numbers from and to the bytes of numpy's arrays.
//!
//! The two parts of the module exchange arrays as bytes. Python 3.10 has no buffer protocol in its
//! stable ABI, and the crate `numpy` would need ndarray and its dependencies.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

/// Returns the signed numbers in a column.
pub(crate) fn signed(column: &Bound<'_, PyBytes>) -> Vec<i64> {
    words(column).map(i64::from_ne_bytes).collect()
}

/// Returns the unsigned numbers in a column.
pub(crate) fn unsigned(column: &Bound<'_, PyBytes>) -> Vec<u64> {
    words(column).map(u64::from_ne_bytes).collect()
}

fn words(column: &Bound<'_, PyBytes>) -> impl Iterator<Item = [u8; 8]> {
    column.as_bytes().chunks_exact(8).filter_map(|word| word.first_chunk().copied())
}

/// Returns the bytes of numbers as a `bytearray`, because an array over it is writable.
pub(crate) fn column<'py, const BYTES: usize>(
    py: Python<'py>,
    numbers: impl ExactSizeIterator<Item = [u8; BYTES]>,
) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, numbers.len() * BYTES, |column| {
        for (word, number) in column.chunks_exact_mut(BYTES).zip(numbers) {
            word.copy_from_slice(&number);
        }
        Ok(())
    })
}
