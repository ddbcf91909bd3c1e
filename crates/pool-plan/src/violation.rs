//! The reasons for which the validator refuses a plan, with the numbers.

use thiserror::Error;

/// The reason why offsets are not a plan, or why buffers do not prove a bound. Buffers are named by
/// their index.
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
        /// The number of offsets.
        offsets: usize,
        /// The number of buffers.
        buffers: usize,
    },
    /// A buffer lies in a memory that it may not lie in, or that does not exist.
    #[error("buffer #{buffer} may not lie in memory #{memory}")]
    ForbiddenMemory {
        /// The buffer.
        buffer: usize,
        /// The memory.
        memory: usize,
    },
    /// A memory holds more than its capacity.
    #[error("memory #{memory}: {peak} bytes of {capacity}")]
    OverCapacity {
        /// The memory.
        memory: usize,
        /// The bytes that it would hold.
        peak: u64,
        /// Its capacity in bytes.
        capacity: u64,
    },
    /// A certificate states another cost than the plan has.
    #[error("the certificate states a cost of {stated}, but the plan costs {found}")]
    WrongCost {
        /// The cost that the certificate states.
        stated: u64,
        /// The cost of the plan.
        found: u64,
    },
    /// A certificate states another bound than its prices prove.
    #[error("the certificate states a bound of {stated}, but its prices prove {found}")]
    WrongBound {
        /// The bound that the certificate states.
        stated: u64,
        /// The bound that the prices prove.
        found: u64,
    },
    /// The prices of a memory are too high to prove a bound.
    #[error("memory #{memory}: the prices add up to {price}, and may to {most}")]
    PricedTooHigh {
        /// The memory.
        memory: usize,
        /// The sum of its prices.
        price: u64,
        /// The most that the sum may be.
        most: u64,
    },
}

impl Violation {
    /// Returns the same violation with other indices of the buffers.
    pub(crate) fn renamed(self, name: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::LiveTogether { first, second, time } => {
                Self::LiveTogether { first: name(first), second: name(second), time }
            }
            Self::Unordered { first, second } => {
                Self::Unordered { first: name(first), second: name(second) }
            }
            Self::Misaligned { buffer, offset, alignment } => {
                Self::Misaligned { buffer: name(buffer), offset, alignment }
            }
            Self::Moved { buffer, offset, fixed } => {
                Self::Moved { buffer: name(buffer), offset, fixed }
            }
            Self::Overflow { buffer, offset } => Self::Overflow { buffer: name(buffer), offset },
            Self::ForbiddenMemory { buffer, memory } => {
                Self::ForbiddenMemory { buffer: name(buffer), memory }
            }
            other => other,
        }
    }
}
