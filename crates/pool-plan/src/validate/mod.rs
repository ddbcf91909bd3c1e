//! The validator: accepts a plan, or names the pair of buffers that cannot share bytes.
//!
//! It shares no code with the solvers and the bounds, works from the problem as it was given, and
//! takes the plain way where they take the fast one.

mod graph;
mod interval;

use std::error::Error;
use std::fmt;

pub(crate) use graph::fixed_in_graph;
pub(crate) use interval::fixed_intervals;

/// Why offsets are not a plan. Buffers are named by their index.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Violation {
    /// Two buffers share bytes, and both are live at one time.
    LiveTogether {
        /// The one that was live first.
        first: usize,
        /// The other.
        second: usize,
        /// A time at which both are live.
        time: i64,
    },
    /// Two buffers share bytes, and neither is done with before the other begins.
    Unordered {
        /// The one of lower index.
        first: usize,
        /// The other.
        second: usize,
    },
    /// An offset is not a multiple of the buffer's alignment.
    Misaligned {
        /// The buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
        /// Its alignment.
        alignment: u64,
    },
    /// A buffer is not where it must be.
    Moved {
        /// The buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
        /// The offset that the problem fixes.
        fixed: u64,
    },
    /// A buffer ends beyond what an address can say.
    Overflow {
        /// The buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
    },
    /// There is not one offset for each buffer.
    WrongLength {
        /// How many offsets there are.
        offsets: usize,
        /// How many buffers.
        buffers: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LiveTogether { first, second, time } => {
                write!(f, "buffers #{first} and #{second} share bytes and both live at {time}")
            }
            Self::Unordered { first, second } => write!(
                f,
                "buffers #{first} and #{second} share bytes, and neither is finished before the \
                 other begins"
            ),
            Self::Misaligned { buffer, offset, alignment } => {
                write!(f, "buffer #{buffer}: offset {offset} is not a multiple of {alignment}")
            }
            Self::Moved { buffer, offset, fixed } => {
                write!(f, "buffer #{buffer}: offset {offset}, but it is fixed at {fixed}")
            }
            Self::Overflow { buffer, offset } => {
                write!(f, "buffer #{buffer}: its end does not fit an address (offset {offset})")
            }
            Self::WrongLength { offsets, buffers } => {
                write!(f, "{offsets} offsets for {buffers} buffers")
            }
        }
    }
}

impl Error for Violation {}

/// What both kinds of buffer must satisfy on their own.
struct Placed {
    size: u64,
    alignment: u64,
    fixed: Option<u64>,
    offset: u64,
}

/// The end of each buffer's bytes, if each is aligned, where it must be, and within addresses.
fn ends(placed: impl Iterator<Item = Placed>) -> Result<Vec<u64>, Violation> {
    let mut ends = Vec::new();
    for (buffer, one) in placed.enumerate() {
        let offset = one.offset;
        if offset % one.alignment != 0 {
            return Err(Violation::Misaligned { buffer, offset, alignment: one.alignment });
        }
        if let Some(fixed) = one.fixed.filter(|&fixed| fixed != offset) {
            return Err(Violation::Moved { buffer, offset, fixed });
        }
        let end = offset.checked_add(one.size).ok_or(Violation::Overflow { buffer, offset })?;
        ends.push(end);
    }
    Ok(ends)
}
