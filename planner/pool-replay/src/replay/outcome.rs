//! The overall outcome of the report on a log.

use crate::policy::Allocator;

use super::report::{AllocatorReport, Report};

/// The outcome of a log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The log is consistent. If a capacity was given, at least one of the allocators stays within
    /// it on each device.
    Fits,
    /// None of the tried allocators stays within the capacity on each device.
    NoRoom,
    /// Only a plan was requested, but there are more buffers than the planner supports.
    LeftOut,
    /// The log contains impossible events.
    Inconsistent,
}

/// The verdict on an allocator for a capacity.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Verdict {
    /// There is room for all buffers.
    Fits,
    /// The allocator was not tried.
    Unknown,
    /// There is no room at some event, or no plan was found.
    Fails,
}

impl Report {
    /// Returns the outcome of the log.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if !self.consistent {
            return Outcome::Inconsistent;
        }
        let of = |allocator: Allocator| {
            let all = self.devices.iter().flat_map(|device| &device.allocators);
            all.filter(|one| one.allocator == allocator).map(verdict).max()
        };
        let shown = self.devices.first().map_or(&[][..], |device| &device.allocators);
        let verdicts: Vec<Verdict> = shown.iter().filter_map(|one| of(one.allocator)).collect();
        if verdicts.is_empty() || verdicts.contains(&Verdict::Fits) {
            return Outcome::Fits;
        }
        if verdicts.iter().all(|&one| one == Verdict::Unknown) {
            return Outcome::LeftOut;
        }
        // Without a capacity, 64 bits leave enough room, unless the sizes are impossible.
        self.capacity.map_or(Outcome::Fits, |_| Outcome::NoRoom)
    }
}

/// Returns whether an allocator stays within the capacity.
fn verdict(report: &AllocatorReport) -> Verdict {
    match (&report.fails_at, report.left_out, &report.message) {
        (Some(_), ..) | (None, false, Some(_)) => Verdict::Fails,
        (None, true, _) => Verdict::Unknown,
        (None, false, None) => Verdict::Fits,
    }
}
