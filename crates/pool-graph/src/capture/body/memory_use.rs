//! A use of memory by an operation of a body.

use std::marker::PhantomData;

/// A use of a view by work that is [enqueued](crate::Capture::enqueue).
#[derive(Clone, Copy, Debug)]
pub struct Use<'v> {
    pub(crate) capture: u64,
    pub(crate) region: usize,
    pub(crate) writes: bool,
    pub(super) view: PhantomData<&'v ()>,
}
