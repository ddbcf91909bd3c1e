//! Requests of `trim_all` to threads whose pools no other thread can release: each thread serves them at its next
//! occasion.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often the threads were asked to release their idle pools.
pub(crate) struct Requests(AtomicUsize);

/// To the pools of backends whose memory one thread releases alone: those of `Cuda`, `Wgpu`, and of other crates.
pub(crate) static OF_DEVICES: Requests = Requests(AtomicUsize::new(0));

/// To the pools of `Cpu`, where the system has no barrier on all threads.
pub(crate) static OF_HOST: Requests = Requests(AtomicUsize::new(0));

impl Requests {
    /// Asks each thread.
    pub(crate) fn ask(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns `true` if there was a request since the last call with `seen`.
    #[inline(always)]
    pub(super) fn is_new(&self, seen: &Cell<usize>) -> bool {
        let asked = self.0.load(Ordering::Relaxed);
        seen.replace(asked) != asked
    }
}
