//! Implements the requests that `trim_all` sends to a thread if another thread cannot release the
//! thread's pools. Each thread handles such a request at its next opportunity.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of requests to release idle pools that have been sent so far.
pub(crate) struct Requests(AtomicUsize);

/// Requests to release the idle pools of `Cuda`, `Wgpu` and backends in other crates, because these
/// pools can be released only by their own thread.
pub(crate) static OF_DEVICES: Requests = Requests(AtomicUsize::new(0));

/// Requests to release the idle pools of `Cpu`, which are sent only if the system has no barrier on
/// all threads.
pub(crate) static OF_HOST: Requests = Requests(AtomicUsize::new(0));

impl Requests {
    /// Sends a request to every thread.
    pub(crate) fn ask(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns `true` if a request has been sent since the last call with the same `seen`.
    #[inline(always)]
    pub(super) fn is_new(&self, seen: &Cell<usize>) -> bool {
        let asked = self.0.load(Ordering::Relaxed);
        seen.replace(asked) != asked
    }
}
