//! The mistakes that views of deferred memory can make: for faulty backends.

/// A mistake that the views of a queue's blocks make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ViewFlaw {
    /// No mistake.
    #[default]
    Nothing,
    /// The second part of a split starts one element late.
    PartsLate,
    /// A shared part is lent with a pointer to the start of its block.
    LendsStart,
    /// A split beyond the end has the whole view as its first part.
    SplitsAnywhere,
    /// A fill is done before earlier work.
    FillsEarly,
    /// A read for the host is done before earlier work.
    ReadsEarly,
    /// A copy of a view leaves out the last element.
    CopiesShort,
    /// A copy of a view is enqueued at the next read.
    CopiesWhenRead,
    /// A copy of a view in another queue does not wait.
    CopiesAcrossEarly,
    /// Copies of other lengths are done.
    CopiesAnyLength,
}
