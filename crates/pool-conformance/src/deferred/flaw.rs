//! Mistakes that faulty backends make in views of deferred memory.

/// A mistake that a faulty backend makes in its views of deferred memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ViewFlaw {
    /// The views make no mistake.
    #[default]
    Nothing,
    /// The second part of a split view starts one element too late.
    PartsLate,
    /// A shared part exposes a pointer to the start of the block instead of the start of the part.
    LendsStart,
    /// If a view is split past its end, the first part is the entire view.
    SplitsAnywhere,
    /// A fill runs before work that was enqueued earlier.
    FillsEarly,
    /// A read by the host runs before work that was enqueued earlier.
    ReadsEarly,
    /// A copy from a view omits the last element.
    CopiesShort,
    /// A copy from a view is enqueued only at the next read.
    CopiesWhenRead,
    /// A copy from another queue's view does not wait for that queue.
    CopiesAcrossEarly,
    /// A copy between views of different lengths is performed, even though it should be refused.
    CopiesAnyLength,
}
