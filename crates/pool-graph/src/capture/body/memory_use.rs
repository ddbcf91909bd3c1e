//! Declarations of the memory that a body's operations use.

use std::marker::PhantomData;

/// A declaration that [enqueued](crate::Capture::enqueue) work reads or writes a view's memory.
#[derive(Clone, Copy, Debug)]
pub struct Use<'v> {
    pub(crate) capture: u64,
    pub(crate) region: usize,
    pub(crate) writes: bool,
    pub(super) view: PhantomData<&'v ()>,
}
