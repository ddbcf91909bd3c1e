//! What views of deferred memory can get wrong: for backends that are wrong on purpose.

/// What the views of a queue's blocks do wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ViewFlaw {
    /// Nothing.
    #[default]
    Nothing,
    /// The second part of a split starts one element late.
    PartsLate,
    /// What a shared part lends begins where its block does.
    LendsStart,
    /// A split beyond the end has the whole view as its first part.
    SplitsAnywhere,
    /// A fill is done before what was enqueued.
    FillsEarly,
    /// A read for the host is done before what was enqueued.
    ReadsEarly,
    /// A copy of a view leaves out the last element.
    CopiesShort,
    /// A copy of a view is enqueued when something is read next.
    CopiesWhenRead,
    /// A copy of a view in another queue waits for nothing.
    CopiesAcrossEarly,
    /// Copies of other lengths are done.
    CopiesAnyLength,
}
