//! The options of a solver: budget, tolerance and capacity; and the monitor that watches and stops
//! it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::PlanError;

/// The options of a solver.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Options {
    /// Find any plan within these bytes, instead of the lowest peak.
    pub capacity: Option<u64>,
    /// The time for planning. The first greedy plan is always finished.
    pub budget: Duration,
    /// The maximum number of rounds of search. Rounds are the same on every machine: with a number
    /// of rounds, and enough time, a plan depends only on the problem and the seed.
    pub rounds: Option<u32>,
    /// The ratio of peak to bound up to which a plan is good enough.
    pub tolerance: f64,
    /// The seed of the random choices.
    pub seed: u64,
    /// The number of threads to search on.
    pub threads: usize,
}

impl Default for Options {
    /// Returns the default: ten seconds on two threads for the lowest peak.
    fn default() -> Self {
        Self {
            capacity: None,
            budget: Duration::from_secs(10),
            rounds: None,
            tolerance: 1.0,
            seed: 0,
            threads: 2,
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let tolerance = self.tolerance;
        if tolerance.is_finite() && tolerance >= 1.0 {
            return Ok(());
        }
        Err(PlanError::BadTolerance { tolerance })
    }

    /// Returns the peak at which to stop.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a tolerance is at least 1, and what exceeds u64 saturates"
    )]
    pub(crate) fn target(&self, bound: u64) -> u64 {
        if let Some(capacity) = self.capacity {
            return capacity;
        }
        let tolerated = crate::plan::as_float(bound) * self.tolerance;
        if self.tolerance > 1.0 { (tolerated as u64).max(bound) } else { bound }
    }
}

/// Watches a planner from another thread, and stops it.
#[derive(Debug)]
pub struct Monitor {
    cancelled: AtomicBool,
    bound: AtomicU64,
    best: AtomicU64,
    steps: AtomicU64,
}

impl Default for Monitor {
    fn default() -> Self {
        Self::new()
    }
}

impl Monitor {
    /// Makes a monitor of a planner that has not started.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            bound: AtomicU64::new(0),
            best: AtomicU64::new(u64::MAX),
            steps: AtomicU64::new(0),
        }
    }

    /// Requests that the planner stops with its best plan so far.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if the planner was requested to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns the lower bound in bytes; 0 before it is known.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.bound.load(Ordering::Relaxed)
    }

    /// Returns the peak of the best plan so far, if there is one.
    #[must_use]
    pub fn best(&self) -> Option<u64> {
        Some(self.best.load(Ordering::Relaxed)).filter(|&best| best != u64::MAX)
    }

    /// Returns the number of placements that the search has tried.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    pub(crate) fn set_bound(&self, bytes: u64) {
        self.bound.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_best(&self, peak: u64) {
        self.best.fetch_min(peak, Ordering::Relaxed);
    }

    pub(crate) fn add_steps(&self, steps: u64) {
        self.steps.fetch_add(steps, Ordering::Relaxed);
    }
}
