//! A guard that retries deferred destructions after a capture has ended.

use pool_driver::leftovers::give_back_leftovers;

/// A guard that retries deferred destructions when it is dropped at the end of a capture.
#[derive(Debug)]
pub(crate) struct DeferredDestruction;

impl Drop for DeferredDestruction {
    fn drop(&mut self) {
        give_back_leftovers();
    }
}
