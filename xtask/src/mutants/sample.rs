//! Selects the mutants to test, which are a share of all mutants. As long as the sources do not
//! change, a seed always selects the same mutants.

use super::areas::Area;

/// The number of seconds that an area needs before its first mutant is tested: for building the
/// tested crates, and for running the tests without a mutant.
const SET_UP: u64 = 150;

/// The share of mutants to test in each area, in units of one hundred-thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share(u64);

const WHOLE: u64 = 100_000;

impl Share {
    /// Returns the share for a percentage. 100 or more selects everything.
    pub(super) fn of_percent(percent: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "clamped; NaN becomes 0")]
        let parts = (percent.clamp(0.0, 100.0) / 100.0 * WHOLE as f64).round() as u64;
        Self(parts)
    }

    /// Returns the share that can be tested in this many minutes, for areas with these numbers of
    /// mutants.
    pub(super) fn within(minutes: u64, areas: &[(Area, usize)]) -> Self {
        let cost = |(area, mutants): &(Area, usize)| u64::from(area.seconds) * *mutants as u64;
        let all: u64 = areas.iter().map(cost).sum();
        let there = minutes.saturating_mul(60).saturating_sub(SET_UP * areas.len() as u64);
        Self(there.saturating_mul(WHOLE).checked_div(all).unwrap_or(WHOLE).min(WHOLE))
    }

    /// Returns how many of `all` mutants to test. The result is at least one if there are any.
    pub(super) fn of(self, all: usize) -> usize {
        let parts = all as u64 * self.0;
        usize::try_from(parts.div_ceil(WHOLE)).unwrap_or(all).max(1).min(all)
    }
}

/// Selects `count` elements with the seed, and keeps their order.
pub(super) fn draw<T>(mut from: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    let mut places: Vec<usize> = (0..from.len()).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut places);
    places.truncate(count);
    let mut drawn = vec![false; from.len()];
    places.into_iter().for_each(|place| drawn[place] = true);
    let mut drawn = drawn.into_iter();
    from.retain(|_| drawn.next().unwrap_or(false));
    from
}

#[cfg(test)]
mod tests {
    use super::super::areas::AREAS;
    use super::{Share, draw};

    fn drawn(count: usize, seed: u64) -> Vec<usize> {
        draw((0..1000).collect(), count, seed)
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        assert_eq!(drawn(50, 7), drawn(50, 7));
        assert_ne!(drawn(50, 7), drawn(50, 8));
    }

    #[test]
    fn nothing_is_drawn_twice_and_the_order_stays() {
        for seed in 0..20 {
            let drawn = drawn(300, seed);
            assert_eq!(drawn.len(), 300);
            assert!(drawn.is_sorted_by(|one, next| one < next), "{drawn:?}");
        }
        assert_eq!(drawn(1000, 3), (0..1000).collect::<Vec<_>>());
        assert_eq!(draw(vec!['a'; 2], 5, 0).len(), 2);
    }

    #[test]
    fn every_mutant_is_drawn_by_some_seed() {
        let mut seen = [false; 1000];
        (0..100).flat_map(|seed| drawn(100, seed)).for_each(|place| seen[place] = true);
        assert!(seen.iter().all(|&seen| seen));
    }

    /// Lists in older reports must stay valid, so a seed must always select the same mutants.
    #[test]
    fn a_seed_draws_what_it_drew() {
        assert_eq!(draw((0..10).collect::<Vec<u32>>(), 4, 0), [4, 5, 6, 8]);
    }

    #[test]
    fn a_share_is_of_everything() {
        assert_eq!(Share::of_percent(25.0).of(400), 100);
        assert_eq!(Share::of_percent(25.0).of(1), 1);
        assert_eq!(Share::of_percent(0.0).of(400), 1, "an area is never left out");
        assert_eq!(Share::of_percent(250.0), Share::of_percent(100.0));
        assert_eq!(Share::of_percent(f64::NAN).of(400), 1);
        assert_eq!(Share::of_percent(100.0).of(0), 0);
    }

    #[test]
    fn minutes_are_kept() {
        let areas: Vec<_> = AREAS.iter().map(|&area| (area, 300)).collect();
        let share = Share::within(120, &areas);
        let seconds: usize =
            areas.iter().map(|&(area, all)| share.of(all) * area.seconds as usize).sum();
        assert!((100 * 60..=120 * 60).contains(&seconds), "{seconds}");
        assert_eq!(Share::within(u64::MAX, &areas), Share::of_percent(100.0));
        assert_eq!(Share::within(0, &areas), Share::of_percent(0.0));
        assert_eq!(Share::within(120, &[]), Share::of_percent(100.0));
    }
}
