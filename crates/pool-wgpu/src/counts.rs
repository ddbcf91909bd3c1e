//! Counts a stream's calls to wgpu.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of calls of each kind that a [`Stream`](crate::Stream) has made to wgpu so far. In a
/// steady state, only `dispatches`, `copies`, and `submissions` increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The number of buffers created for blocks.
    pub buffers_created: u64,
    /// The number of buffers freed together with their blocks.
    pub buffers_freed: u64,
    /// The number of bind groups created.
    pub bind_groups_created: u64,
    /// The number of staging buffers created for copies to or from the host.
    pub staging_buffers_created: u64,
    /// The number of recorded dispatches, including those of the stream's own kernels for fills and
    /// copies.
    pub dispatches: u64,
    /// The number of copies and clears recorded outside compute passes.
    pub copies: u64,
    /// The number of submitted batches.
    pub submissions: u64,
}

/// The counters from which [`Counts`] is created. Another thread can lock the stream while the
/// counters are being read.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) buffers_created: Counter,
    pub(crate) buffers_freed: Counter,
    pub(crate) bind_groups_created: Counter,
    pub(crate) staging_buffers_created: Counter,
    pub(crate) dispatches: Counter,
    pub(crate) copies: Counter,
    pub(crate) submissions: Counter,
}

/// A counter that never decreases.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Increases the counter by one.
    #[inline]
    pub(crate) fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    /// Returns the current values of all counters.
    pub(crate) fn get(&self) -> Counts {
        Counts {
            buffers_created: self.buffers_created.get(),
            buffers_freed: self.buffers_freed.get(),
            bind_groups_created: self.bind_groups_created.get(),
            staging_buffers_created: self.staging_buffers_created.get(),
            dispatches: self.dispatches.get(),
            copies: self.copies.get(),
            submissions: self.submissions.get(),
        }
    }
}
