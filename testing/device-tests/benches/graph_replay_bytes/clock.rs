//! Measures the time of a replay, from the call to the end of its work.

use std::time::Instant;

/// Measures the given number of replays, or none if times have no meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    replays: Option<usize>,
}

/// The number of replays before the first measured one.
const WARM_UP: usize = 3;

impl Clock {
    pub(crate) fn new(replays: Option<usize>) -> Self {
        Self { replays }
    }

    /// Returns the median time in microseconds. The replay runs at least once.
    pub(crate) fn median(self, mut replay: impl FnMut()) -> Option<f64> {
        (0..WARM_UP).for_each(|_| replay());
        let mut times: Vec<f64> = (0..self.replays?)
            .map(|_| {
                let start = Instant::now();
                replay();
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }
}
