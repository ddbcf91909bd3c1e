//! A guard that retries deferred destructions after a capture has ended.

use pool_driver::leftovers::give_back_leftovers;

/// A guard that, when dropped at the end of a capture, retries deferred destructions.
#[derive(Debug)]
pub(crate) struct DeferredDestruction;

impl Drop for DeferredDestruction {
    fn drop(&mut self) {
        give_back_leftovers();
    }
}
