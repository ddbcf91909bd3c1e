//! Mistakes that faulty backends make in views of deferred memory.

/// A mistake that a faulty backend makes in its views of deferred memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ViewFlaw {
    /// The views make no mistake.
    #[default]
    Nothing,
    /// The second part of a split view starts one element too late.
    PartsLate,
    /// Each shared part exposes a pointer to the start of the block instead of its own start.
    LendsStart,
    /// If a view is split past its end, the first part is the entire view.
    SplitsAnywhere,
    /// Fills run before work that was enqueued earlier.
    FillsEarly,
    /// Reads by the host run before work that was enqueued earlier.
    ReadsEarly,
    /// Each copy from a view omits the last element.
    CopiesShort,
    /// Copies from a view are enqueued only at the next read.
    CopiesWhenRead,
    /// Copies from another queue's view do not wait for that queue.
    CopiesAcrossEarly,
    /// Copies between views of different lengths are performed instead of being refused.
    CopiesAnyLength,
}
