//! Counters of the wgpu calls that a stream makes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of the calls to wgpu that a [`Stream`](crate::Stream) has made so far. In steady state, only
/// `dispatches`, `copies` and `submissions` grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Buffers created for blocks.
    pub buffers_created: u64,
    /// Block buffers freed.
    pub buffers_freed: u64,
    /// Bind groups created.
    pub bind_groups_created: u64,
    /// Staging buffers created for copies from or to the host.
    pub staging_buffers_created: u64,
    /// Dispatches recorded, including those of the stream's own kernels for fills and copies.
    pub dispatches: u64,
    /// Copies and clears recorded outside compute passes.
    pub copies: u64,
    /// Batches submitted.
    pub submissions: u64,
}

/// The counters behind [`Counts`], which are read without locking the stream.
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

/// A counter that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    #[inline]
    pub(crate) fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    /// Returns the current numbers.
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
