//! The retry of deferred destructions at the end of a capture.

use pool_driver::leftovers::give_back_leftovers;

/// Retries deferred destructions when it is dropped, which happens at the end of a capture.
#[derive(Debug)]
pub(crate) struct DeferredDestruction;

impl Drop for DeferredDestruction {
    fn drop(&mut self) {
        give_back_leftovers();
    }
}
