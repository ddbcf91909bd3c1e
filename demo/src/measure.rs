//! Times two versions of the same work in interleaved batches, so that slowdowns of the machine
//! affect both. It reports the ratio within each pair of batches.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::clock;
use super::heap::{self, Usage};

/// The amount of measuring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Pairs of batches.
    pub(crate) batches: u32,
    /// About how long a batch of the allocating version takes.
    pub(crate) batch_time: Duration,
}

/// Two versions of one workload.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) allocating: Version,
    pub(crate) pooled: Version,
    /// Time of the pooled version divided by that of the allocating one.
    pub(crate) ratio: Quartiles,
}

/// One version; every number is of one iteration.
#[derive(Debug)]
pub(crate) struct Version {
    /// Seconds.
    pub(crate) time: Quartiles,
    pub(crate) heap: Usage,
    /// `None` if the system does not count them.
    pub(crate) minor_faults: Option<f64>,
}

/// The middle half of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Quartiles {
    /// Interpolates linearly between two numbers. Without numbers, all are NaN.
    fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let at = |quarter: usize| {
            let position = quarter * numbers.len().saturating_sub(1);
            let (index, rest) = (position / 4, position % 4);
            let Some(low) = numbers.get(index) else { return f64::NAN };
            let high = numbers.get(index + 1).unwrap_or(low);
            low + (high - low) * [0.0, 0.25, 0.5, 0.75][rest]
        };
        Self { lower: at(1), median: at(2), upper: at(3) }
    }
}

/// Warms both up, times them alternately, then counts one iteration of each on the heap.
pub(crate) fn compare(
    allocating: &mut dyn FnMut(),
    pooled: &mut dyn FnMut(),
    plan: &Plan,
    progress: &ProgressBar,
) -> Comparison {
    batch(pooled, 1);
    let iterations = iterations_that_take(plan.batch_time, allocating);
    batch(pooled, iterations);

    let mut batches = [Batches::default(), Batches::default()];
    for number in 0..plan.batches {
        let [of_allocating, of_pooled] = &mut batches;
        // The first one finds the caches as the other one left them, so they alternate.
        if number % 2 == 0 {
            of_allocating.add(batch(allocating, iterations));
            of_pooled.add(batch(pooled, iterations));
        } else {
            of_pooled.add(batch(pooled, iterations));
            of_allocating.add(batch(allocating, iterations));
        }
        progress.inc(1);
    }
    let [of_allocating, of_pooled] = batches;
    let pairs = of_pooled.times.iter().zip(&of_allocating.times);
    Comparison {
        ratio: Quartiles::of(pairs.map(|(pooled, allocating)| pooled / allocating).collect()),
        allocating: of_allocating.version(heap::watch(allocating)),
        pooled: of_pooled.version(heap::watch(pooled)),
    }
}

/// Doubles the count until it fills the time; this also warms up the work.
fn iterations_that_take(time: Duration, work: &mut dyn FnMut()) -> u32 {
    let mut iterations = 1;
    while batch(work, iterations).seconds * f64::from(iterations) < time.as_secs_f64() {
        iterations *= 2;
    }
    iterations
}

/// One batch, per iteration.
#[derive(Clone, Copy)]
struct Batch {
    seconds: f64,
    minor_faults: Option<f64>,
}

fn batch(work: &mut dyn FnMut(), iterations: u32) -> Batch {
    let faults_before = clock::minor_faults();
    let start = Instant::now();
    for _ in 0..iterations {
        work();
    }
    let elapsed = start.elapsed();
    let faults = faults_before.zip(clock::minor_faults()).map(|(before, after)| after - before);
    Batch {
        seconds: elapsed.as_secs_f64() / f64::from(iterations),
        minor_faults: faults.map(|faults| as_number(faults) / f64::from(iterations)),
    }
}

#[derive(Default)]
struct Batches {
    times: Vec<f64>,
    minor_faults: Vec<Option<f64>>,
}

impl Batches {
    fn add(&mut self, batch: Batch) {
        self.times.push(batch.seconds);
        self.minor_faults.push(batch.minor_faults);
    }

    fn version(self, heap: Usage) -> Version {
        let count = as_number(self.minor_faults.len() as u64);
        let sum: Option<f64> = self.minor_faults.into_iter().sum();
        Version { time: Quartiles::of(self.times), heap, minor_faults: sum.map(|sum| sum / count) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn as_number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Duration;

    use indicatif::ProgressBar;

    use super::{Plan, Quartiles, compare};

    #[test]
    fn quartiles_lie_on_straight_lines_between_numbers() {
        let of = Quartiles::of;
        assert_eq!(
            of(vec![5.0, 1.0, 3.0, 2.0, 4.0]),
            Quartiles { lower: 2.0, median: 3.0, upper: 4.0 }
        );
        assert_eq!(of(vec![0.0, 1.0]), Quartiles { lower: 0.25, median: 0.5, upper: 0.75 });
        assert_eq!(of(vec![7.0]), Quartiles { lower: 7.0, median: 7.0, upper: 7.0 });
        assert!(of(Vec::new()).median.is_nan());
    }

    #[test]
    fn twice_the_work_takes_longer_and_only_the_allocating_one_allocates() {
        let plan = Plan { batches: 5, batch_time: Duration::from_micros(200) };
        let mut room = vec![0.0_f64; 2_000];
        let comparison = compare(
            &mut || drop(black_box(vec![1.5_f64; 20_000])),
            &mut || black_box(&mut room).fill(1.5),
            &plan,
            &ProgressBar::hidden(),
        );
        assert_eq!(comparison.allocating.heap.allocations, 1);
        assert_eq!(comparison.allocating.heap.peak, 160_000);
        assert_eq!(comparison.pooled.heap.allocations, 0);
        assert!(comparison.ratio.median < 1.0, "a tenth of the work, {:?}", comparison.ratio);
        assert!(comparison.pooled.time.median > 0.0);
    }
}
