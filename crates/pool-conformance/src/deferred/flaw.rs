//! Mistakes that views of deferred memory can make, for faulty backends.

/// A mistake made by the views of a queue's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ViewFlaw {
    /// No mistake.
    #[default]
    Nothing,
    /// The second part of a split starts one element too late.
    PartsLate,
    /// A shared part exposes a pointer to the start of its block.
    LendsStart,
    /// A split past the end returns the whole view as its first part.
    SplitsAnywhere,
    /// A fill runs before earlier work.
    FillsEarly,
    /// A read by the host runs before earlier work.
    ReadsEarly,
    /// A copy of a view omits the last element.
    CopiesShort,
    /// A copy of a view is only enqueued at the next read.
    CopiesWhenRead,
    /// A copy of a view in another queue does not wait for that queue.
    CopiesAcrossEarly,
    /// Copies between views of different lengths are performed.
    CopiesAnyLength,
}
