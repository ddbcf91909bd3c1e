//! Copies a strided array, described in device memory, to a contiguous one.
//!
//! The description is not a parameter, so it can be changed between two replays of a captured
//! launch.

use std::fmt;

use crate::kernel::kernels;
use crate::module::module;
use crate::{Kernels, Module};

/// The PTX of these kernels.
pub const MODULE: Module = module!("gather");

/// `to[k] = from[start + i·strides]`, for the k-th index `i` in row-major order, bit by bit; at
/// most `capacity` elements.
///
/// Parameters: `from`, `to`, `description` (see [`description`], in device memory), `capacity` (`u64`).
/// Any one-dimensional grid of any one-dimensional blocks; the output must not overlap the input.
pub const GATHER: Kernels = kernels!("gather");

/// The reason for which a description is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotDescribed {
    /// The numbers of lengths and strides differ.
    Ranks {
        /// The number of lengths.
        lengths: usize,
        /// The number of strides.
        strides: usize,
    },
    /// An element would be outside the array.
    Outside {
        /// The lowest index of an element.
        least: i128,
        /// The highest index.
        largest: i128,
        /// The number of elements of the array.
        elements: usize,
    },
}

impl fmt::Display for NotDescribed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranks { lengths, strides } => {
                write!(
                    formatter,
                    "{lengths} lengths and {strides} strides: pass the same number of both"
                )
            }
            Self::Outside { least, largest, elements } => write!(
                formatter,
                "places {least} to {largest} of an array of {elements} elements: start, lengths or \
                 strides are wrong"
            ),
        }
    }
}

impl std::error::Error for NotDescribed {}

/// Returns the words of a description: the rank, `start`, the lengths, the strides (in elements),
/// each 64 bits.
///
/// `elements` is the number of elements of the strided array; every index is checked against it.
///
/// # Errors
///
/// Fails if the numbers of strides and lengths differ, and if an element would be outside the
/// array.
pub fn description(
    elements: usize,
    start: usize,
    lengths: &[usize],
    strides: &[isize],
) -> Result<Vec<u64>, NotDescribed> {
    if lengths.len() != strides.len() {
        return Err(NotDescribed::Ranks { lengths: lengths.len(), strides: strides.len() });
    }
    if !lengths.contains(&0) {
        check_places(elements, start, lengths, strides)?;
    }
    let mut words = vec![lengths.len() as u64, start as u64];
    words.extend(lengths.iter().map(|length| *length as u64));
    words.extend(strides.iter().map(|stride| *stride as i64 as u64));
    Ok(words)
}

/// Checks the indices, if there is at least one element.
fn check_places(
    elements: usize,
    start: usize,
    lengths: &[usize],
    strides: &[isize],
) -> Result<(), NotDescribed> {
    let (mut least, mut largest) = (start as i128, start as i128);
    for (length, stride) in lengths.iter().zip(strides) {
        // It is below 2^127, and so is the sum of any that fit memory. A larger one saturates and
        // is refused.
        let reach = (*length as i128 - 1) * *stride as i128;
        let side = if reach < 0 { &mut least } else { &mut largest };
        *side = side.saturating_add(reach);
    }
    if least < 0 || largest >= elements as i128 {
        return Err(NotDescribed::Outside { least, largest, elements });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{NotDescribed, description};

    #[test]
    fn words_stand_in_the_order_that_the_kernel_reads() {
        let words = description(12, 11, &[3, 4], &[-4, -1]).unwrap();
        assert_eq!(words, [2, 11, 3, 4, u64::MAX - 3, u64::MAX]);
        assert_eq!(description(1, 0, &[], &[]).unwrap(), [0, 0]);
    }

    #[test]
    fn nothing_outside_is_described() {
        let outside = |least, largest| Err(NotDescribed::Outside { least, largest, elements: 12 });
        assert_eq!(description(12, 0, &[3, 4], &[4, 2]), outside(0, 14));
        assert_eq!(description(12, 3, &[2], &[-4]), outside(-1, 3));
        assert_eq!(description(12, 12, &[], &[]), outside(12, 12));
        assert!(description(12, 0, &[usize::MAX, 2], &[isize::MIN, isize::MAX]).is_err());
        assert!(description(0, 0, &[0, 9], &[1, 1]).is_ok());
        let complaint = description(12, 3, &[2], &[-4]).unwrap_err().to_string();
        assert!(complaint.contains("-1 to 3") && complaint.contains("12 elements"));
    }

    #[test]
    fn ranks_must_agree() {
        let refusal = description(12, 0, &[3, 4], &[4]);
        assert_eq!(refusal, Err(NotDescribed::Ranks { lengths: 2, strides: 1 }));
    }
}
