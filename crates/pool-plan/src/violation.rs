//! The reasons for which the validator refuses a plan, with the numbers.

use thiserror::Error;

/// The reason why offsets are not a plan. Buffers are named by their index.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Violation {
    /// Two buffers share bytes, and both are live at one time.
    #[error("buffers #{first} and #{second} share bytes and both live at {time}")]
    LiveTogether {
        /// The buffer that was live first.
        first: usize,
        /// The other buffer.
        second: usize,
        /// A time at which both are live.
        time: i64,
    },
    /// Two buffers share bytes, and neither is finished before the other begins.
    #[error(
        "buffers #{first} and #{second} share bytes, and neither is finished before the other begins"
    )]
    Unordered {
        /// The buffer of lower index.
        first: usize,
        /// The other buffer.
        second: usize,
    },
    /// An offset is not a multiple of the buffer's alignment.
    #[error("buffer #{buffer}: offset {offset} is not a multiple of {alignment}")]
    Misaligned {
        /// The buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
        /// Its alignment.
        alignment: u64,
    },
    /// A buffer is not at its fixed offset.
    #[error("buffer #{buffer}: offset {offset}, but it is fixed at {fixed}")]
    Moved {
        /// The buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
        /// The offset that the problem fixes.
        fixed: u64,
    },
    /// A buffer ends above the address space.
    #[error("buffer #{buffer}: its end does not fit an address (offset {offset})")]
    Overflow {
        /// The buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
    },
    /// The plan does not have one offset for each buffer.
    #[error("{offsets} offsets for {buffers} buffers")]
    WrongLength {
        /// The number of offsets.
        offsets: usize,
        /// The number of buffers.
        buffers: usize,
    },
}
