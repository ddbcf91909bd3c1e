//! Vector clocks: what comes before what.
//!
//! The agents are the host (one for all its threads, see `docs/simulator.md`) and every stream.

/// The agent that stands for the host.
pub(crate) const HOST: usize = 0;

/// How far an agent has seen the others, itself included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u32>);

/// One moment of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) agent: usize,
    pub(crate) tick: u32,
}

impl Clock {
    /// A new moment of this agent.
    pub(crate) fn tick(&mut self, agent: usize) -> Stamp {
        if self.0.len() <= agent {
            self.0.resize(agent + 1, 0);
        }
        self.0[agent] += 1;
        Stamp { agent, tick: self.0[agent] }
    }

    /// What the other has seen, this one has seen from now on.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether it has seen all that the other has seen.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        let mine = self.0.iter().copied().chain(std::iter::repeat(0));
        other.0.iter().zip(mine).all(|(theirs, mine)| *theirs <= mine)
    }

    /// Whether that moment lies before this clock's.
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
