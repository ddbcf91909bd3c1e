//! A guard that retries deferred destructions after a capture has ended.

use pool_driver::deferred_frees::retry_deferred_frees;

/// A guard that, when dropped at the end of a capture, retries deferred destructions.
#[derive(Debug)]
pub(crate) struct DeferredDestruction;

impl Drop for DeferredDestruction {
    fn drop(&mut self) {
        retry_deferred_frees();
    }
}
