//! The reasons for rejecting a plan, along with the relevant numbers.

use thiserror::Error;

/// The reason for rejecting either a list of offsets as a plan or a witness as the proof of a lower
/// bound. A violation identifies buffers by their indices.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Violation {
    /// Two buffers share bytes while both are live.
    #[error("buffers #{first} and #{second} share bytes, although both are live at time {time}")]
    LiveTogether {
        /// The buffer that becomes live first.
        first: usize,
        /// The buffer that becomes live later.
        second: usize,
        /// A time at which both buffers are live.
        time: i64,
    },
    /// Two buffers share bytes, but neither is ordered before the other.
    #[error(
        "buffers #{first} and #{second} share bytes, although they may be in use at the same time"
    )]
    Unordered {
        /// The buffer with the lower index.
        first: usize,
        /// The buffer with the higher index.
        second: usize,
    },
    /// An offset is not a multiple of the buffer's alignment.
    #[error("buffer #{buffer} is at offset {offset}, which is not a multiple of {alignment}")]
    Misaligned {
        /// The buffer's index.
        buffer: usize,
        /// The buffer's offset in the plan.
        offset: u64,
        /// The buffer's alignment.
        alignment: u64,
    },
    /// The plan does not place a buffer at its fixed offset.
    #[error("buffer #{buffer} is at offset {offset}, but the problem requires offset {fixed}")]
    Moved {
        /// The buffer's index.
        buffer: usize,
        /// The buffer's offset in the plan.
        offset: u64,
        /// The buffer's fixed offset, as required by the problem.
        fixed: u64,
    },
    /// The end of a buffer lies beyond the address space.
    #[error(
        "buffer #{buffer} starts at offset {offset} and extends past the end of the address space"
    )]
    Overflow {
        /// The buffer's index.
        buffer: usize,
        /// The buffer's offset in the plan.
        offset: u64,
    },
    /// A witness contains the index of a nonexistent buffer.
    #[error("the witness contains buffer #{buffer}, which does not exist")]
    NoSuchBuffer {
        /// The index in the witness.
        buffer: usize,
    },
    /// The buffers of a witness are not all live at the same time, or a buffer is listed twice.
    #[error(
        "the witness does not prove a bound, because buffer #{buffer} is listed twice or is not \
         live at time {time}"
    )]
    NotAtOnce {
        /// The buffer's index.
        buffer: usize,
        /// The time at which the most buffers in the witness are live.
        time: i64,
    },
    /// Two buffers in a witness may share bytes, or a buffer is listed twice.
    #[error(
        "the witness does not prove a bound, because buffer #{first} is listed twice or ends \
         before buffer #{second} begins"
    )]
    Ordered {
        /// The buffer that is used first.
        first: usize,
        /// The buffer that is used later.
        second: usize,
    },
    /// The plan does not contain exactly one offset for each buffer.
    #[error("the plan contains {offsets} offsets, but the problem has {buffers} buffers")]
    WrongLength {
        /// The number of offsets.
        offsets: usize,
        /// The number of buffers.
        buffers: usize,
    },
    /// A buffer is placed in a memory that does not exist or that the buffer must not use.
    #[error(
        "buffer #{buffer} is placed in memory #{memory}, which does not exist or is not allowed \
         for this buffer"
    )]
    ForbiddenMemory {
        /// The buffer's index.
        buffer: usize,
        /// The memory's index.
        memory: usize,
    },
    /// The buffers in a memory require more bytes than the memory can hold.
    #[error(
        "the buffers in memory #{memory} need {peak} bytes, but its capacity is {capacity} bytes"
    )]
    OverCapacity {
        /// The memory's index.
        memory: usize,
        /// The number of bytes that the buffers need in this memory.
        peak: u64,
        /// The memory's capacity in bytes.
        capacity: u64,
    },
    /// A certificate states a cost that differs from the plan's cost.
    #[error("the certificate states a cost of {stated}, but the cost of the plan is {found}")]
    WrongCost {
        /// The cost stated by the certificate.
        stated: u64,
        /// The plan's cost.
        found: u64,
    },
    /// A certificate states a bound that does not follow from its prices.
    #[error(
        "the certificate states a bound of {stated}, but its dual prices imply a bound of {found}"
    )]
    WrongBound {
        /// The bound stated by the certificate.
        stated: u64,
        /// The bound that follows from the prices.
        found: u64,
    },
    /// The prices of a memory are too high to prove a bound.
    #[error(
        "the dual prices for memory #{memory} add up to {price}, but the sum must not exceed {most}"
    )]
    PricedTooHigh {
        /// The memory's index.
        memory: usize,
        /// The sum of the memory's prices.
        price: u64,
        /// The maximum allowed sum of the memory's prices.
        most: u64,
    },
}

impl Violation {
    /// Returns a copy of the violation with different buffer indices.
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
