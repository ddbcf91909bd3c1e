//! A guard that retries deferred destructions after a capture has ended.

use pool_driver::deferred_frees::retry_deferred_frees;

/// A guard that retries deferred destructions when it is dropped at the end of a capture.
#[derive(Debug)]
pub(crate) struct DeferredDestruction;

impl Drop for DeferredDestruction {
    fn drop(&mut self) {
        retry_deferred_frees();
    }
}
