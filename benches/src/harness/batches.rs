//! Interleaved batches. Each round runs one batch of every case of a variant, so that temporary
//! slowdowns of the machine affect all cases equally. Ratios are computed within a round.

use std::hint::black_box;

use super::clock::{minor_faults, thread_time};
use crate::case::{Case, Prepared};
use crate::record::Timing;

/// The amount of measuring.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of batches for each case.
    pub batches: u32,
    /// The approximate duration of a batch, in nanoseconds.
    pub batch_time: u64,
}

/// A case while the rounds are running.
struct Running {
    case: Case,
    prepared: Prepared,
    /// The number of passes in a batch.
    times: u64,
    nanoseconds: Vec<f64>,
    minor_faults: Option<u64>,
}

/// Times the cases. Cases of the same variant alternate.
#[must_use]
pub fn time_in_turns(cases: &[Case], plan: Plan) -> Vec<Timing> {
    let variants = cases
        .chunk_by(|left, right| (left.workload, left.variant) == (right.workload, right.variant));
    variants.flat_map(|variant| time_variant(variant, plan)).collect()
}

fn time_variant(cases: &[Case], plan: Plan) -> Vec<Timing> {
    let mut running: Vec<_> = cases.iter().map(|case| Running::start(*case, plan)).collect();
    for round in 0..plan.batches as usize {
        // Each case finds the caches as the previous case left them, so each round starts with a
        // different case.
        let start = round % running.len();
        running.rotate_left(start);
        for case in &mut running {
            case.batch();
        }
        running.rotate_right(start);
    }
    running.into_iter().map(Running::finish).collect()
}

/// Times passes of a case that is alone in its process. Each pass is a batch.
#[must_use]
pub(super) fn time_alone(case: &Case, passes: u32) -> Timing {
    let mut running = Running::new(*case, 1);
    // The first batch also includes the harness's own first memory accesses.
    running.batch();
    running.nanoseconds.clear();
    running.minor_faults = Some(0);
    for _ in 0..passes {
        running.batch();
    }
    running.finish()
}

impl Running {
    fn new(case: Case, times: u64) -> Self {
        let prepared = (case.prepare)();
        Self { case, prepared, times, nanoseconds: Vec::with_capacity(128), minor_faults: Some(0) }
    }

    /// Prepares the case, and determines how many passes fill a batch.
    fn start(case: Case, plan: Plan) -> Self {
        let mut running = Self::new(case, 1);
        loop {
            let before = thread_time();
            (running.prepared)(black_box(running.times));
            let taken = thread_time() - before;
            if taken * 2 >= plan.batch_time {
                return running;
            }
            running.times *= 2;
        }
    }

    fn batch(&mut self) {
        let faults = minor_faults();
        let before = thread_time();
        (self.prepared)(black_box(self.times));
        let taken = thread_time() - before;
        self.nanoseconds.push(per_pass(taken, self.times));
        let faults = faults.zip(minor_faults()).map(|(before, after)| after - before);
        self.minor_faults = self.minor_faults.zip(faults).map(|(sum, more)| sum + more);
    }

    fn finish(self) -> Timing {
        let passes = self.times * self.nanoseconds.len() as u64;
        Timing {
            name: self.case.name(),
            minor_faults: self.minor_faults.map(|faults| per_pass(faults, passes)),
            nanoseconds: self.nanoseconds,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(super) fn per_pass(sum: u64, passes: u64) -> f64 {
    sum as f64 / passes as f64
}
