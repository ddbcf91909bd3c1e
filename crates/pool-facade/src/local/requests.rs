//! Implements the requests that `trim_all` sends to threads that must release their pools
//! themselves. A thread handles a request when it next uses its list of idle pools.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of requests sent so far to release idle pools.
pub(crate) struct Requests(AtomicUsize);

/// Requests to release the idle pools of `Cuda`, `Wgpu`, and backends in other crates. Only the
/// thread that owns these pools can release them.
pub(crate) static OF_DEVICES: Requests = Requests(AtomicUsize::new(0));

/// Requests to release idle `Cpu` pools. These requests are sent only if the system does not
/// support a memory barrier that runs on all threads.
pub(crate) static OF_HOST: Requests = Requests(AtomicUsize::new(0));

impl Requests {
    /// Sends a request to every thread.
    pub(crate) fn ask(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns `true` if a request has been sent since `seen` was last updated, and updates `seen`.
    #[inline(always)]
    pub(super) fn is_new(&self, seen: &Cell<usize>) -> bool {
        let asked = self.0.load(Ordering::Relaxed);
        seen.replace(asked) != asked
    }
}
