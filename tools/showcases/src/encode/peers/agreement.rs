//! Compares the results of all encoders.

use super::run::Run;
use tasks::TaskError;

/// The maximum difference between the results of two encoders, for numbers in a vector of length 1.
const ALLOWED: f32 = 1e-5;

/// Parses the numbers in a file: `f32` with the lowest byte first.
pub(super) fn numbers(bytes: &[u8]) -> Result<Vec<f32>, TaskError> {
    if bytes.is_empty() || bytes.len() % size_of::<f32>() != 0 {
        return Err(format!("{} bytes are not numbers", bytes.len()).into());
    }
    let number = |bytes: &[u8]| bytes.try_into().map(f32::from_le_bytes);
    Ok(bytes.chunks_exact(size_of::<f32>()).map(number).collect::<Result<_, _>>()?)
}

/// Returns the largest difference of each encoder from the first.
///
/// # Errors
///
/// Fails if two encoders differ by more than is allowed or in their number of results, or if a
/// result is NaN.
pub(super) fn check(runs: &[Run]) -> Result<Vec<f32>, TaskError> {
    for (at, left) in runs.iter().enumerate() {
        for right in &runs[..at] {
            let difference = difference(&left.numbers, &right.numbers)?;
            if difference > ALLOWED || difference.is_nan() {
                let (left, right) = (&left.name, &right.name);
                return Err(format!("{left} and {right} differ by {difference:e}").into());
            }
        }
    }
    let first = runs.first().ok_or("there are no runs")?;
    runs.iter().map(|run| difference(&run.numbers, &first.numbers)).collect()
}

/// Returns the largest difference, or NaN if any difference is NaN.
fn difference(left: &[f32], right: &[f32]) -> Result<f32, TaskError> {
    if left.len() != right.len() {
        return Err(format!("{} numbers, and {} elsewhere", left.len(), right.len()).into());
    }
    let differences = left.iter().zip(right).map(|(left, right)| (left - right).abs());
    // `f32::max` would ignore NaN.
    let larger = |most: f32, one| if most.is_nan() || one <= most { most } else { one };
    Ok(differences.fold(0.0, larger))
}

#[cfg(test)]
mod tests {
    use super::{Run, check, numbers};

    fn runs(all: &[&[f32]]) -> Vec<Run> {
        let run = |(at, numbers): (usize, &&[f32])| Run {
            name: format!("way {at}"),
            forwards: vec![],
            numbers: numbers.to_vec(),
        };
        all.iter().enumerate().map(run).collect()
    }

    #[test]
    fn a_difference_beyond_the_allowed_one_is_refused_between_any_two() {
        let near = check(&runs(&[&[0.5, 0.0], &[0.5, 9e-6], &[0.5, -0.5e-6]])).unwrap();
        assert_eq!(near, [0.0, 9e-6, 0.5e-6]);
        let error = check(&runs(&[&[0.5, 0.0], &[0.5, 1.1e-5]])).unwrap_err().to_string();
        assert!(error.contains("way 1 and way 0"), "{error}");
        // Each result is close to the first, but the two are not close to each other.
        let error = check(&runs(&[&[0.0], &[6e-6], &[-6e-6]])).unwrap_err().to_string();
        assert!(error.contains("way 2 and way 1"), "{error}");
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        assert!(check(&[]).is_err());
        assert!(check(&runs(&[&[0.0, 0.0], &[0.0]])).is_err());
        assert!(check(&runs(&[&[0.0, 0.0], &[f32::NAN, 0.0]])).is_err());
        assert!(check(&runs(&[&[0.0, 0.0, 0.0], &[0.0, f32::NAN, 9e-6]])).is_err());
    }

    #[test]
    fn bytes_are_numbers_by_fours() {
        assert_eq!(numbers(&[0, 0, 128, 63, 0, 0, 0, 192]).unwrap(), [1.0, -2.0]);
        assert!(numbers(&[0, 0, 128]).is_err());
        assert!(numbers(&[]).is_err());
    }
}
