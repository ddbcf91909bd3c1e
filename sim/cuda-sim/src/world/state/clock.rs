//! Vector clocks, which represent the happens-before order.
//!
//! The agents are the host (one agent for all its threads, see `docs/simulator.md`) and every
//! stream.

/// The agent that represents the host.
pub(crate) const HOST: usize = 0;

/// For each agent, the last moment that this clock is ordered after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u32>);

/// A moment of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) agent: usize,
    pub(crate) tick: u32,
}

impl Clock {
    /// Starts a new moment for this agent.
    pub(crate) fn tick(&mut self, agent: usize) -> Stamp {
        if self.0.len() <= agent {
            self.0.resize(agent + 1, 0);
        }
        self.0[agent] += 1;
        Stamp { agent, tick: self.0[agent] }
    }

    /// Orders this clock after everything that the other clock is ordered after.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Returns `true` if this clock is ordered after everything that the other clock is ordered
    /// after.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        let mine = self.0.iter().copied().chain(std::iter::repeat(0));
        other.0.iter().zip(mine).all(|(theirs, mine)| *theirs <= mine)
    }

    /// Returns `true` if the moment happens before this clock.
    pub(crate) fn has_seen(&self, stamp: Stamp) -> bool {
        self.0.get(stamp.agent).is_some_and(|seen| *seen >= stamp.tick)
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn a_moment_is_seen_once_its_clock_is_joined() {
        let (mut one, mut two) = (Clock::default(), Clock::default());
        let stamp = one.tick(1);
        assert!(one.has_seen(stamp) && !two.has_seen(stamp));
        two.join(&one);
        let later = one.tick(1);
        assert!(two.has_seen(stamp) && !two.has_seen(later));
        assert!(!two.includes(&one) && one.includes(&two));
        two.tick(2);
        two.join(&one);
        assert!(two.includes(&one) && !one.includes(&two));
    }
}
