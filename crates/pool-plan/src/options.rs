//! A solver's options, and the monitor that another thread can use to observe and stop the solver.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::PlanError;

/// The options of a solver.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Options {
    /// The capacity in bytes, or `None` if there is no capacity. If a capacity is set, the solver
    /// returns the first plan that fits within it, without minimizing the peak.
    pub capacity: Option<u64>,
    /// The time limit for planning. The solver always completes the first greedy plan, even if
    /// doing so exceeds the time limit.
    pub budget: Duration,
    /// The maximum number of rounds of search. Each round does the same work on every machine. If
    /// the number of rounds is limited and all rounds fit within the budget, the plan depends only
    /// on the problem and the seed.
    pub rounds: Option<u32>,
    /// The solver stops when the peak is at most `tolerance` times the lower bound.
    pub tolerance: f64,
    /// The seed for all of the solver's random choices.
    pub seed: u64,
    /// The number of threads that the search uses.
    pub threads: usize,
}

impl Default for Options {
    /// Returns the default options. With these options, the solver minimizes the peak for up to ten
    /// seconds on two threads.
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

    /// Returns the highest peak at which the solver stops.
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

/// A monitor that another thread can use to observe a planner. The thread can also use the monitor
/// to stop the planner.
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
    /// Creates a monitor for a planner that has not started yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            bound: AtomicU64::new(0),
            best: AtomicU64::new(u64::MAX),
            steps: AtomicU64::new(0),
        }
    }

    /// Asks the planner to stop and to return the best plan found so far.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if the planner has been asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns the lower bound in bytes, or 0 if no bound is known yet.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.bound.load(Ordering::Relaxed)
    }

    /// Returns the peak of the best plan so far, or `None` if there is no plan yet.
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
