//! The end of a capture, at which deferred resources are destroyed.

use pool_driver::leftovers::give_back_leftovers;

/// Retries deferred destructions when it is dropped, at the end of a capture.
#[derive(Debug)]
pub(crate) struct DeferredDestruction;

impl Drop for DeferredDestruction {
    fn drop(&mut self) {
        give_back_leftovers();
    }
}
