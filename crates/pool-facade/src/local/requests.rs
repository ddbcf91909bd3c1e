//! Requests of `trim_all` to threads whose pools no other thread can release. Each thread serves
//! requests at its next opportunity.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of requests to the threads to release their idle pools.
pub(crate) struct Requests(AtomicUsize);

/// Requests for pools whose memory only their own thread releases: pools of `Cuda`, `Wgpu`, and
/// backends of other crates.
pub(crate) static OF_DEVICES: Requests = Requests(AtomicUsize::new(0));

/// Requests for the pools of `Cpu`, if the system has no barrier on all threads.
pub(crate) static OF_HOST: Requests = Requests(AtomicUsize::new(0));

impl Requests {
    /// Sends a request to each thread.
    pub(crate) fn ask(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns `true` if a request was sent since the last call with `seen`.
    #[inline(always)]
    pub(super) fn is_new(&self, seen: &Cell<usize>) -> bool {
        let asked = self.0.load(Ordering::Relaxed);
        seen.replace(asked) != asked
    }
}
