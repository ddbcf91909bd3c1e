//! The order among the threads of a warp. It is measured in moments, which count synchronising
//! instructions.

/// The number of lanes in a warp.
pub(super) const LANES: usize = 32;
/// The last moment that is counted. Later moments are treated as this one and as ordered, so no
/// false race is reported.
pub(super) const LAST: u16 = 1023;

/// For each lane, the moment up to which it is ordered after each other lane.
#[derive(Debug)]
pub(super) struct Ticks {
    now: u16,
    /// The moment up to which every lane is ordered after every other lane.
    floor: u16,
    /// The moments of pairs of lanes that are ordered beyond `floor`. The list is empty until only
    /// some lanes of a warp synchronise.
    pairs: Vec<[u16; LANES]>,
}

impl Ticks {
    pub(super) fn new() -> Self {
        Self { now: 0, floor: 0, pairs: Vec::new() }
    }

    /// Resets the moments at a block barrier, which orders all earlier accesses.
    pub(super) fn reset(&mut self) {
        (self.now, self.floor) = (0, 0);
        self.pairs.clear();
    }

    /// Returns the moment that the next access is recorded with.
    pub(super) fn now(&self) -> u16 {
        self.now
    }

    /// Advances the moment, so later accesses are distinguished from those already released.
    pub(super) fn advance(&mut self) {
        self.now = (self.now + 1).min(LAST);
    }

    /// Returns `true` if a lane is ordered after the given moment of another lane.
    pub(super) fn knows(&self, lane: usize, other: usize, moment: u16) -> bool {
        let pair = self.pairs.get(lane).map_or(0, |pairs| pairs[other]);
        moment >= LAST || self.floor.max(pair) > moment
    }

    /// Synchronises the lanes in `lanes`. `all` contains every lane of the warp.
    pub(super) fn meet(&mut self, lanes: u32, all: u32) {
        self.now = (self.now + 1).min(LAST);
        if lanes == all {
            self.floor = self.now;
            self.pairs.clear();
            return;
        }
        if self.pairs.is_empty() {
            self.pairs = vec![[0; LANES]; LANES];
        }
        let takes_part = |lane: &usize| lanes >> lane & 1 == 1;
        let mut known = [0; LANES];
        for lane in (0..LANES).filter(takes_part) {
            for (all, own) in known.iter_mut().zip(&self.pairs[lane]) {
                *all = (*all).max(*own);
            }
            known[lane] = self.now;
        }
        for lane in (0..LANES).filter(takes_part) {
            self.pairs[lane] = known;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ticks;

    #[test]
    fn lanes_know_what_those_they_met_have_done() {
        let mut ticks = Ticks::new();
        assert!(!ticks.knows(0, 1, ticks.now()));
        ticks.meet(0b0011, u32::MAX);
        assert!(ticks.knows(0, 1, 0) && ticks.knows(1, 0, 0));
        assert!(!ticks.knows(0, 2, 0) && !ticks.knows(2, 1, 0));
        // Order also passes through a third lane.
        ticks.meet(0b0110, u32::MAX);
        assert!(ticks.knows(2, 0, 0) && !ticks.knows(0, 2, 0));
        assert!(!ticks.knows(2, 1, ticks.now()));
        ticks.meet(u32::MAX, u32::MAX);
        assert!(ticks.knows(31, 0, 1) && !ticks.knows(31, 0, ticks.now()));
    }
}
