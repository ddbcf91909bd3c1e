//! A strided array made contiguous, as a description in device memory says.
//!
//! The description is no parameter, so it can be changed between two replays of a captured launch.

use std::fmt;

use crate::kernel::kernels;
use crate::module::module;
use crate::{Kernels, Module};

/// The PTX of these kernels.
pub const MODULE: Module = module!("gather");

/// `to[k] = from[start + i·strides]`, for the k-th index `i` in row-major order, every bit of it; of at
/// most `capacity` elements.
///
/// Parameters: `from`, `to`, `description` (see [`description`], in device memory), `capacity` (`u64`).
/// Any one-dimensional grid of any one-dimensional blocks; the output must not overlap the input.
pub const GATHER: Kernels = kernels!("gather");

/// Why there is no such description.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotDescribed {
    /// There must be a stride for each length.
    Ranks {
        /// How many lengths were given.
        lengths: usize,
        /// How many strides were given.
        strides: usize,
    },
    /// An element would lie outside of the array.
    Outside {
        /// The least place of an element.
        least: i128,
        /// The largest.
        largest: i128,
        /// How many elements the array has.
        elements: usize,
    },
}

impl fmt::Display for NotDescribed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranks { lengths, strides } => {
                write!(formatter, "{lengths} lengths and {strides} strides: give as many of both")
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

/// The words of a description: the rank, `start`, the lengths, the strides (in elements), each 64 bits.
///
/// `elements` is how many the strided array has; every place is checked against it.
///
/// # Errors
///
/// When there are not as many strides as lengths, and when an element would lie outside of the array.
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

/// Where there is at least one element.
fn check_places(
    elements: usize,
    start: usize,
    lengths: &[usize],
    strides: &[isize],
) -> Result<(), NotDescribed> {
    let (mut least, mut largest) = (start as i128, start as i128);
    for (length, stride) in lengths.iter().zip(strides) {
        // Below 2^127, and so is the sum of any that fit into memory; more saturates and is refused.
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
