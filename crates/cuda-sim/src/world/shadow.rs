//! Who touched which bytes of a block: two accesses without order, of which one writes, are a race.

use std::fmt;
use std::ops::Range;

use super::clock::{Clock, Stamp};

/// Who makes an access, for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    /// The largest number stands for the host.
    pub(crate) stream: usize,
    pub(crate) number: u64,
    pub(crate) what: &'static str,
    /// The node of a graph, where it is one.
    pub(crate) node: Option<usize>,
}

/// An access that is remembered.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) bytes: Range<usize>,
    pub(crate) writes: bool,
    pub(crate) actor: Actor,
    stamp: Stamp,
}

/// The accesses to one block that a later one could race with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow(Vec<Record>);

impl Shadow {
    /// Notes an access and answers one that it races with.
    pub(crate) fn access(
        &mut self,
        bytes: Range<usize>,
        writes: bool,
        actor: Actor,
        (clock, stamp): (&Clock, Stamp),
    ) -> Option<Record> {
        if bytes.is_empty() {
            return None;
        }
        let races = |old: &&Record| {
            let overlaps = old.bytes.start < bytes.end && bytes.start < old.bytes.end;
            overlaps && (old.writes || writes) && !clock.has_seen(old.stamp)
        };
        let found = self.0.iter().find(races).cloned();
        // Whoever comes after this access comes after those, too: they are no longer needed.
        self.0.retain(|old| {
            let inside = bytes.start <= old.bytes.start && old.bytes.end <= bytes.end;
            !(inside && (writes || !old.writes) && clock.has_seen(old.stamp))
        });
        self.0.push(Record { bytes, writes, actor, stamp });
        found
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, number, what, node } = self;
        if *stream == usize::MAX {
            return write!(formatter, "{what} (the host)");
        }
        write!(formatter, "{what} (stream {stream}, operation {number}")?;
        if let Some(node) = node {
            write!(formatter, ", node {node}")?;
        }
        formatter.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::{Actor, Clock, Shadow};

    const ACTOR: Actor = Actor { stream: 1, number: 1, what: "test", node: None };

    #[test]
    fn unordered_writes_race_and_ordered_ones_do_not() {
        let (mut one, mut two) = (Clock::default(), Clock::default());
        let mut shadow = Shadow::default();
        let stamp = one.tick(1);
        assert!(shadow.access(0..8, true, ACTOR, (&one, stamp)).is_none());
        let stamp = two.tick(2);
        assert!(shadow.access(8..16, true, ACTOR, (&two, stamp)).is_none());
        assert!(shadow.access(4..9, false, ACTOR, (&two, stamp)).is_some());
        two.join(&one);
        let stamp = two.tick(2);
        assert!(shadow.access(0..16, true, ACTOR, (&two, stamp)).is_none());
    }

    #[test]
    fn reads_do_not_race_with_reads() {
        let (mut one, mut two) = (Clock::default(), Clock::default());
        let mut shadow = Shadow::default();
        let stamp = one.tick(1);
        assert!(shadow.access(0..8, false, ACTOR, (&one, stamp)).is_none());
        let stamp = two.tick(2);
        assert!(shadow.access(0..8, false, ACTOR, (&two, stamp)).is_none());
        assert!(shadow.access(0..8, true, ACTOR, (&two, stamp)).is_some());
    }

    #[test]
    fn what_is_covered_is_forgotten() {
        let mut clock = Clock::default();
        let mut shadow = Shadow::default();
        for _ in 0..100 {
            let stamp = clock.tick(1);
            shadow.access(0..8, true, ACTOR, (&clock, stamp));
        }
        assert_eq!(shadow.0.len(), 1);
    }
}
