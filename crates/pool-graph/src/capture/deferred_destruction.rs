//! The end of a capture: the resources that had to wait for it are given back then.

use pool_driver::leftovers::give_back_leftovers;

/// Gives back, when it is dropped, what could not be destroyed while a capture was under way.
#[derive(Debug)]
pub(crate) struct DeferredDestruction;

impl Drop for DeferredDestruction {
    fn drop(&mut self) {
        give_back_leftovers();
    }
}
