//! Order among the threads of a warp: moments of the warp, counted by synchronising instructions.

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// The last moment. Later ones are counted as this, and as ordered, so that no false race is
/// reported.
pub(super) const LAST: u16 = 1023;

/// For each lane, the moment of every other lane up to which it is ordered.
#[derive(Debug)]
pub(super) struct Ticks {
    now: u16,
    /// The moment up to which every lane is ordered after every other.
    floor: u16,
    /// The pairs of lanes that are ordered further; empty until a part of a warp synchronises.
    pairs: Vec<[u16; LANES]>,
}

impl Ticks {
    pub(super) fn new() -> Self {
        Self { now: 0, floor: 0, pairs: Vec::new() }
    }

    /// Resets at a barrier of the block, which orders all earlier accesses.
    pub(super) fn reset(&mut self) {
        (self.now, self.floor) = (0, 0);
        self.pairs.clear();
    }

    /// Returns the moment of an access.
    pub(super) fn now(&self) -> u16 {
        self.now
    }

    /// Advances the moment: later accesses are after the released ones.
    pub(super) fn advance(&mut self) {
        self.now = (self.now + 1).min(LAST);
    }

    /// Returns `true` if a lane is ordered after another lane's moment.
    pub(super) fn knows(&self, lane: usize, other: usize, moment: u16) -> bool {
        let pair = self.pairs.get(lane).map_or(0, |pairs| pairs[other]);
        moment >= LAST || self.floor.max(pair) > moment
    }

    /// Synchronises these lanes; `all` are the lanes of the warp.
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
        // Order passes through a third lane, too.
        ticks.meet(0b0110, u32::MAX);
        assert!(ticks.knows(2, 0, 0) && !ticks.knows(0, 2, 0));
        assert!(!ticks.knows(2, 1, ticks.now()));
        ticks.meet(u32::MAX, u32::MAX);
        assert!(ticks.knows(31, 0, 1) && !ticks.knows(31, 0, ticks.now()));
    }
}
