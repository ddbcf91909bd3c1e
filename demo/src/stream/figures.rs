//! The figures of one way's frames.

use super::record::Record;

/// The figures of frames in steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    /// Frames of all cameras together, by wall time.
    pub(super) frames_a_second: f64,
    /// Seconds of processor time for a frame: the median, the 99th and 99.9th percentile, and the
    /// worst.
    pub(super) times: [f64; 4],
    /// Seconds of the worst frame by wall time.
    pub(super) worst_by_clock: f64,
    /// Page faults of a frame; `None` if the system does not count them.
    pub(super) faults: Option<f64>,
    /// Allocations of a frame.
    pub(super) allocations: f64,
    /// The most bytes that the process held beyond those before the first frame.
    pub(super) held: Option<i64>,
}

impl Figures {
    /// Computes the figures of the records of `cameras` cameras, in turns.
    pub(super) fn of(records: &[Record], cameras: usize) -> Self {
        let count = records.len() as f64;
        let mut times: Vec<u64> = records.iter().map(|record| record.processor).collect();
        times.sort_unstable();
        // A round of all cameras takes as long as the slowest of them.
        let rounds =
            records.chunks(cameras).filter_map(|round| round.iter().map(|one| one.wall).max());
        let faults: Option<u64> = records.iter().map(|record| record.faults).sum();
        let allocations: u64 = records.iter().map(|record| record.allocations).sum();
        Self {
            frames_a_second: count / seconds(rounds.sum()),
            times: [500, 990, 999, 1_000].map(|permille| seconds(quantile(&times, permille))),
            worst_by_clock: seconds(records.iter().map(|one| one.wall).max().unwrap_or(0)),
            faults: faults.map(|faults| faults as f64 / count),
            allocations: allocations as f64 / count,
            held: records.iter().filter_map(|record| record.held).max(),
        }
    }
}

/// Returns the smallest number such that `permille` in a thousand do not exceed it; the numbers are
/// in order.
fn quantile(sorted: &[u64], permille: usize) -> u64 {
    let rank = (sorted.len() * permille).div_ceil(1_000);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::{Figures, Record, quantile};

    #[test]
    fn quantiles_are_numbers_that_are_there() {
        let numbers: Vec<u64> = (1..=1_000).collect();
        assert_eq!([500, 990, 999, 1_000].map(|at| quantile(&numbers, at)), [500, 990, 999, 1_000]);
        assert_eq!(quantile(&numbers[..10], 990), 10);
        assert_eq!(quantile(&[], 500), 0);
    }

    #[test]
    fn a_round_takes_as_long_as_its_slowest_camera() {
        let frame =
            |wall, held| Record { wall, held: Some(held), faults: Some(3), ..Record::default() };
        let figures = Figures::of(&[frame(1_000_000, 5), frame(3_000_000, -9)], 2);
        assert!((figures.frames_a_second - 2.0 / 0.003).abs() < 1e-6);
        assert_eq!((figures.held, figures.faults), (Some(5), Some(3.0)));
        let unknown = Figures::of(&[Record::default()], 1);
        assert_eq!((unknown.held, unknown.faults), (None, None));
    }
}
