//! Input numbers for the kernels, and comparisons with the host's results.

use fastrand::Rng;

use tasks::TaskError;

/// Half the distance from 1 to the next `f32`, which is the largest relative error of one rounding.
pub(super) const ROUNDING: f64 = 1.0 / 16_777_216.0;

/// The number of elements in a case. It exceeds a block's threads and is not a multiple of them.
pub(super) const COUNT: usize = 300;

/// Returns numbers from -4 to 4. They are the same in each run.
pub(super) fn numbers(count: usize) -> Vec<f32> {
    let mut random = Rng::with_seed(0x5EED);
    (0..count).map(|_| random.f32().mul_add(8.0, -4.0)).collect()
}

/// Returns the bytes of numbers.
pub(super) fn bytes<T: Copy, const N: usize>(values: &[T], of: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| of(*value)).collect()
}

/// Returns the bytes of `f32`s.
pub(super) fn singles(values: &[f32]) -> Vec<u8> {
    bytes(values, f32::to_le_bytes)
}

/// Returns the bytes of dimensions and strides, stored as `u64`.
pub(super) fn sizes(values: &[u64]) -> Vec<u8> {
    bytes(values, u64::to_le_bytes)
}

/// Checks that the bits equal those of the host's result.
///
/// # Errors
///
/// Fails with the first position at which the bits differ.
pub(super) fn exact(found: &[u8], expected: &[u8]) -> Result<(), TaskError> {
    if found.len() != expected.len() {
        return Err(format!("{} bytes instead of {}", found.len(), expected.len()).into());
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => Err(format!("byte {at} is {} instead of {}", found[at], expected[at]).into()),
    }
}

/// Checks that `f32`s are within a relative and an absolute bound of the host's results.
///
/// # Errors
///
/// Fails with the first position at which a bound is exceeded.
pub(super) fn within(
    found: &[u8],
    expected: &[f64],
    relative: f64,
    absolute: f64,
) -> Result<(), TaskError> {
    if found.len() != expected.len() * 4 {
        return Err(format!("{} bytes instead of {}", found.len(), expected.len() * 4).into());
    }
    for (index, (found, expected)) in found.chunks_exact(4).zip(expected).enumerate() {
        let found = f64::from(f32::from_le_bytes(found.try_into()?));
        let bound = relative * expected.abs() + absolute;
        // A comparison with NaN is false.
        let fits = (found - expected).abs() <= bound;
        if !fits {
            return Err(format!(
                "number {index} is {found}, which is not within {bound} of {expected}"
            )
            .into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{exact, singles, within};

    #[test]
    fn bounds_hold_or_do_not() {
        let found = singles(&[1.0, 2.0]);
        assert!(within(&found, &[1.0, 2.001], 1e-3, 0.0).is_ok());
        let error = within(&found, &[1.0, 2.1], 1e-3, 0.0).unwrap_err().to_string();
        assert!(error.starts_with("number 1 is 2"), "{error}");
        assert!(within(&found, &[1.0, f64::NAN], 1e-3, 0.0).is_err());
        assert!(within(&singles(&[f32::NAN]), &[1.0], 1.0, 1.0).is_err());
        assert!(exact(&found, &singles(&[1.0, 2.0])).is_ok());
        assert!(exact(&found, &singles(&[1.0, -2.0])).is_err() && exact(&found, &[]).is_err());
    }
}
