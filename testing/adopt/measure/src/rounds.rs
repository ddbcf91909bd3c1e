//! Rounds of batches: each round runs one batch of every version of a case. So a temporary slowdown
//! of the machine affects all versions, and ratios are taken within a round.

use std::hint::black_box;

use crate::clock::thread_time;
use crate::heap;
use crate::record::Record;

/// The amount of measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The rounds, each with one batch of every version.
    rounds: usize,
    /// The approximate time of a batch of the original, in nanoseconds.
    batch_time: u64,
}

impl Plan {
    pub(crate) const QUICK: Self = Self { rounds: 21, batch_time: 2_000_000 };
    pub(crate) const WHOLE: Self = Self { rounds: 61, batch_time: 25_000_000 };
}

/// Work that several versions of a crate do, which all must give the same result.
pub struct Case<'w> {
    name: String,
    versions: Vec<Version<'w>>,
}

/// A version of the work.
struct Version<'w> {
    name: &'static str,
    work: Box<dyn FnMut(Task) -> Vec<u64> + 'w>,
}

/// A task of a version.
#[derive(Clone, Copy)]
enum Task {
    /// Run this many calls, and return their nanoseconds.
    Repeat(u64),
    /// Run one call, and return the heap blocks and bytes that it requests.
    Watch,
    /// Run one call, and return the bits of its result.
    Tell,
}

impl Task {
    fn run<R>(self, call: &mut impl FnMut() -> R, bits: &impl Fn(&R) -> Vec<u64>) -> Vec<u64> {
        match self {
            Task::Tell => bits(&call()),
            Task::Repeat(times) => {
                let before = thread_time();
                (0..times).for_each(|_| drop(black_box(call())));
                vec![thread_time() - before]
            }
            Task::Watch => {
                let usage = heap::watch(|| drop(black_box(call())));
                vec![usage.allocations, usage.requested]
            }
        }
    }
}

impl<'w> Case<'w> {
    /// Creates a case without versions.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), versions: Vec::new() }
    }

    /// Adds a version; the first is the original. `call` is timed, and `bits` returns the bits of
    /// its result.
    pub fn version<R>(
        mut self,
        name: &'static str,
        mut call: impl FnMut() -> R + 'w,
        bits: impl Fn(&R) -> Vec<u64> + 'w,
    ) -> Self {
        let work = move |task: Task| task.run(&mut call, &bits);
        self.versions.push(Version { name, work: Box::new(work) });
        self
    }

    /// Adds a version that runs where `place` runs its argument, for example on the only thread of
    /// a thread pool. The processor time and the heap requests are those of that thread.
    pub fn version_in<R>(
        mut self,
        name: &'static str,
        place: impl Fn(&mut (dyn FnMut() + Send)) + 'w,
        mut call: impl FnMut() -> R + Send + 'w,
        bits: impl Fn(&R) -> Vec<u64> + Sync + 'w,
    ) -> Self {
        let work = move |task: Task| {
            let mut result = Vec::new();
            place(&mut || result = task.run(&mut call, &bits));
            result
        };
        self.versions.push(Version { name, work: Box::new(work) });
        self
    }

    /// Compares all results with those of the first version. It does so twice, because a pool is
    /// warm the second time.
    pub(crate) fn compare(&mut self) -> Result<(), String> {
        let Some((original, others)) = self.versions.split_first_mut() else { return Ok(()) };
        let expected = original.tell();
        for version in [original].into_iter().chain(others) {
            for _ in 0..2 {
                let found = version.tell();
                if expected.is_empty() || found != expected {
                    let at = expected.iter().zip(&found).position(|(left, right)| left != right);
                    return Err(format!(
                        "{}: {} differs from the original, first at word {at:?}, of {} and {} words",
                        self.name,
                        version.name,
                        found.len(),
                        expected.len(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Times all versions in turns, and counts the heap requests of one call of each.
    pub(crate) fn measure(mut self, plan: Plan) -> Vec<Record> {
        let calls = self.calls_of_a_batch(plan);
        let mut batches: Vec<Vec<f64>> = vec![Vec::with_capacity(plan.rounds); self.versions.len()];
        for round in 0..plan.rounds {
            // A version is affected by the caches of its predecessor, so each round starts with
            // another one.
            for offset in 0..self.versions.len() {
                let turn = (round + offset) % self.versions.len();
                batches[turn].push(self.versions[turn].batch(calls));
            }
        }
        let originals = batches.first().cloned().unwrap_or_default();
        let versions = self.versions.iter_mut().zip(&batches);
        versions.map(|(version, own)| version.record(&self.name, &originals, own)).collect()
    }

    /// Doubles the calls until the original fills the time. All versions are warm then.
    fn calls_of_a_batch(&mut self, plan: Plan) -> u64 {
        let mut calls = 1;
        loop {
            let spent = self.versions.iter_mut().map(|version| version.batch(calls)).next();
            for version in self.versions.iter_mut().skip(1) {
                version.batch(calls);
            }
            if spent.unwrap_or(f64::INFINITY) * calls as f64 * 1.5 >= plan.batch_time as f64 {
                return calls;
            }
            calls *= 2;
        }
    }
}

impl Version<'_> {
    fn tell(&mut self) -> Vec<u64> {
        (self.work)(Task::Tell)
    }

    /// Returns the nanoseconds of a call.
    fn batch(&mut self, calls: u64) -> f64 {
        let time = (self.work)(Task::Repeat(black_box(calls)));
        time.iter().sum::<u64>() as f64 / calls as f64
    }

    fn record(&mut self, case: &str, originals: &[f64], own: &[f64]) -> Record {
        let ratios = originals.iter().zip(own).map(|(original, own)| original / own).collect();
        let [allocations, bytes] = (self.work)(Task::Watch)[..] else { unreachable!() };
        Record {
            case: case.to_owned(),
            version: self.name.to_owned(),
            nanoseconds: percentiles(own.to_vec())[1],
            speed: percentiles(ratios),
            allocations,
            bytes,
        }
    }
}

/// Returns the 10th percentile, the median and the 90th, each an element of the input.
fn percentiles(mut numbers: Vec<f64>) -> [f64; 3] {
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().saturating_sub(1);
    [10, 50, 90]
        .map(|percent| numbers.get((last * percent + 50) / 100).copied().unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::{Case, Plan, percentiles};

    #[test]
    fn percentiles_are_numbers_that_are_there() {
        assert_eq!(percentiles((0..=10).rev().map(f64::from).collect()), [1.0, 5.0, 9.0]);
        assert_eq!(percentiles(vec![7.0]), [7.0; 3]);
        assert!(percentiles(Vec::new())[1].is_nan());
    }

    #[test]
    fn a_version_in_a_place_is_measured_on_that_thread() {
        let place = |job: &mut (dyn FnMut() + Send)| {
            std::thread::scope(|scope| drop(scope.spawn(job)));
        };
        let case = Case::new("vectors").version("original", || vec![1_u8; 1_000], |_| vec![1]);
        let mut case = case.version_in("pool", place, || vec![1_u8; 1_000], |_| vec![1]);
        case.compare().unwrap();
        let records = case.measure(Plan { rounds: 3, batch_time: 1_000 });
        assert_eq!((records[1].allocations, records[1].bytes), (1, 1_000));
        assert!(records[1].nanoseconds > 0.0);
    }

    #[test]
    fn a_version_that_differs_is_named() {
        let bits = |value: &u64| vec![*value];
        let mut calls = 0;
        let mut case = Case::new("sum").version("original", || 7, bits).version(
            "pool",
            || {
                calls += 1;
                6 + u64::from(calls == 1) // only the first time
            },
            bits,
        );
        let refusal = case.compare().unwrap_err();
        assert!(refusal.contains("sum") && refusal.contains("pool"), "{refusal}");
        assert!(Case::new("same").version("original", || 7, bits).compare().is_ok());
        assert!(Case::new("nothing").version("original", || 7, |_| Vec::new()).compare().is_err());
    }

    #[test]
    fn allocations_are_those_of_one_call() {
        let make = |length: usize| move || vec![1_u8; length];
        let case = Case::new("vectors").version("original", make(1_000), |_| vec![1]);
        let case = case.version("pool", make(10), |_| vec![1]);
        let records = case.measure(Plan { rounds: 3, batch_time: 1_000 });
        let counts: Vec<_> =
            records.iter().map(|record| (record.allocations, record.bytes)).collect();
        assert_eq!(counts, [(1, 1_000), (1, 10)]);
        assert_eq!(records[0].speed, [1.0; 3]);
    }
}
