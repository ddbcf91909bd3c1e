//! Uses of memory by an operation of a body.

use std::marker::PhantomData;

/// Declares how [enqueued](crate::Capture::enqueue) work uses a view.
#[derive(Clone, Copy, Debug)]
pub struct Use<'v> {
    pub(crate) capture: u64,
    pub(crate) region: usize,
    pub(crate) writes: bool,
    pub(super) view: PhantomData<&'v ()>,
}
