//! The reasons for which the validator refuses a plan, with the numbers.

use thiserror::Error;

/// The reason why offsets are not a plan, or buffers no witness of a bound. Buffers are named by their index.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Violation {
    /// Two buffers share bytes, and both are live at one time.
    #[error("buffers #{first} and #{second} share bytes and both live at {time}")]
    LiveTogether {
        /// The one that was live first.
        first: usize,
        /// The other.
        second: usize,
        /// A time at which both are live.
        time: i64,
    },
    /// Two buffers share bytes, and neither is done with before the other begins.
    #[error(
        "buffers #{first} and #{second} share bytes, and neither is finished before the other begins"
    )]
    Unordered {
        /// The one of lower index.
        first: usize,
        /// The other.
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
    /// A buffer is not where it must be.
    #[error("buffer #{buffer}: offset {offset}, but it is fixed at {fixed}")]
    Moved {
        /// The buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
        /// The offset that the problem fixes.
        fixed: u64,
    },
    /// A buffer ends beyond what an address can say.
    #[error("buffer #{buffer}: its end does not fit an address (offset {offset})")]
    Overflow {
        /// The buffer.
        buffer: usize,
        /// Its offset.
        offset: u64,
    },
    /// A witness names a buffer that the problem does not have.
    #[error("there is no buffer #{buffer}")]
    NoSuchBuffer {
        /// The index.
        buffer: usize,
    },
    /// The buffers of a witness are not all live at one time, or one is named twice.
    #[error(
        "buffer #{buffer} is named twice, or is not live at {time}, when most of the witness is"
    )]
    NotAtOnce {
        /// The buffer.
        buffer: usize,
        /// The time at which most buffers of the witness are live.
        time: i64,
    },
    /// Two buffers of a witness may share bytes, or one is named twice.
    #[error("buffer #{first} is finished before buffer #{second} begins, or is named twice")]
    Ordered {
        /// The buffer that is finished first.
        first: usize,
        /// The other.
        second: usize,
    },
    /// The plan does not have one offset for each buffer.
    #[error("{offsets} offsets for {buffers} buffers")]
    WrongLength {
        /// How many offsets there are.
        offsets: usize,
        /// How many buffers.
        buffers: usize,
    },
}
