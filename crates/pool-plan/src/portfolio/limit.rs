//! When planning ends.

use std::time::Instant;

use crate::options::Monitor;

/// When the planner has to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'a> {
    /// When the budget is spent; none where that is beyond the end of time.
    pub(crate) deadline: Option<Instant>,
    /// The monitor through which another thread may stop the planner.
    pub(crate) monitor: &'a Monitor,
}

impl Limit<'_> {
    /// Whether the budget is spent, or the planner was told to stop.
    pub(crate) fn is_reached(&self) -> bool {
        self.monitor.is_cancelled() || self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}
