//! Accesses to the bytes of a block. Two unordered accesses are a race if at least one of them
//! writes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::clock::{Clock, Stamp};

/// Who made an access, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    /// The number of the stream. The largest number stands for the host.
    pub(crate) stream: usize,
    pub(crate) number: u64,
    pub(crate) what: &'static str,
    /// The kernel, if a kernel made the access.
    pub(crate) kernel: Option<Arc<str>>,
    /// The node, if a graph node made the access.
    pub(crate) node: Option<usize>,
}

/// A recorded access.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) bytes: Range<usize>,
    /// The accessed ranges, sorted and never empty, or `None` if all bytes were accessed.
    parts: Option<Arc<[Range<usize>]>>,
    pub(crate) writes: bool,
    pub(crate) actor: Actor,
    stamp: Stamp,
    clock: Arc<Clock>,
}

/// An access that is about to be recorded.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) bytes: Range<usize>,
    pub(crate) parts: Option<Arc<[Range<usize>]>>,
    pub(crate) writes: bool,
    pub(crate) actor: Actor,
    /// `true` if earlier records that this access covers may be dropped.
    pub(crate) prunes: bool,
}

/// The accesses to one block with which a later access could race.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow(Vec<Record>);

impl Shadow {
    /// Records an access, and returns an earlier access with which it races.
    ///
    /// The accesses of a kernel are only known once it has run. Accesses that were recorded earlier
    /// may have been submitted after the kernel, and may be ordered after it.
    pub(crate) fn access(
        &mut self,
        noted: Noted,
        (clock, stamp): (&Arc<Clock>, Stamp),
    ) -> Option<Record> {
        let Noted { bytes, parts, writes, actor, prunes } = noted;
        if bytes.is_empty() {
            return None;
        }
        let new = Record { bytes, parts, writes, actor, stamp, clock: Arc::clone(clock) };
        let races = |old: &&Record| {
            let ordered = clock.has_seen(old.stamp) || old.clock.has_seen(stamp);
            (old.writes || writes) && !ordered && old.overlaps(&new)
        };
        let found = self.0.iter().find(races).cloned();
        // Every access that is ordered after this one is also ordered after the older ones, so the
        // older records are no longer needed.
        if prunes && new.parts.is_none() {
            self.0.retain(|old| {
                let inside = new.bytes.start <= old.bytes.start && old.bytes.end <= new.bytes.end;
                !(inside && (writes || !old.writes) && clock.has_seen(old.stamp))
            });
        }
        // A repeated access replaces its record, for example when a graph is launched many times.
        self.0.retain(|old| {
            let same = old.bytes == new.bytes && old.parts == new.parts && old.writes == writes;
            !(prunes && same && clock.has_seen(old.stamp))
        });
        self.0.push(new);
        found
    }

    /// Returns a recorded access that the clock is not ordered after.
    pub(crate) fn unknown_to(&self, clock: &Clock) -> Option<&Record> {
        self.0.iter().find(|record| !clock.has_seen(record.stamp))
    }
}

impl Record {
    fn overlaps(&self, other: &Self) -> bool {
        if !overlap(&self.bytes, &other.bytes) {
            return false;
        }
        let mine = self.parts.as_deref().unwrap_or(std::slice::from_ref(&self.bytes));
        let theirs = other.parts.as_deref().unwrap_or(std::slice::from_ref(&other.bytes));
        any_overlap(mine, theirs)
    }
}

/// Returns `true` if two ranges overlap.
pub(crate) fn overlap(one: &Range<usize>, two: &Range<usize>) -> bool {
    one.start < two.end && two.start < one.end
}

/// Returns `true` if any ranges in two sorted lists overlap.
pub(crate) fn any_overlap(mut one: &[Range<usize>], mut two: &[Range<usize>]) -> bool {
    while let ([first, others_of_one @ ..], [second, others_of_two @ ..]) = (one, two) {
        if overlap(first, second) {
            return true;
        }
        if first.end <= second.start {
            one = others_of_one;
        } else {
            two = others_of_two;
        }
    }
    false
}

impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, number, what, kernel, node } = self;
        if *stream == usize::MAX {
            return write!(formatter, "{what} (the host)");
        }
        write!(formatter, "{what} ")?;
        if let Some(kernel) = kernel {
            write!(formatter, "{kernel} ")?;
        }
        write!(formatter, "(stream {stream}, operation {number}")?;
        if let Some(node) = node {
            write!(formatter, ", node {node}")?;
        }
        formatter.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Arc;

    use super::{Actor, Clock, Noted, Record, Shadow, any_overlap};

    const ACTOR: Actor = Actor { stream: 1, number: 1, what: "test", kernel: None, node: None };

    /// Records an access that an agent makes now.
    fn access(
        shadow: &mut Shadow,
        bytes: Range<usize>,
        writes: bool,
        (clock, agent): (&mut Clock, usize),
    ) -> Option<Record> {
        let stamp = clock.tick(agent);
        let noted = Noted { bytes, parts: None, writes, actor: ACTOR, prunes: true };
        shadow.access(noted, (&Arc::new(clock.clone()), stamp))
    }

    #[test]
    fn unordered_writes_race_and_ordered_ones_do_not() {
        let (mut one, mut two) = (Clock::default(), Clock::default());
        let mut shadow = Shadow::default();
        assert!(access(&mut shadow, 0..8, true, (&mut one, 1)).is_none());
        assert!(access(&mut shadow, 8..16, true, (&mut two, 2)).is_none());
        assert!(access(&mut shadow, 4..9, false, (&mut two, 2)).is_some());
        two.join(&one);
        assert!(access(&mut shadow, 0..16, true, (&mut two, 2)).is_none());
    }

    #[test]
    fn reads_do_not_race_with_reads() {
        let (mut one, mut two) = (Clock::default(), Clock::default());
        let mut shadow = Shadow::default();
        assert!(access(&mut shadow, 0..8, false, (&mut one, 1)).is_none());
        assert!(access(&mut shadow, 0..8, false, (&mut two, 2)).is_none());
        assert!(access(&mut shadow, 0..8, true, (&mut two, 2)).is_some());
    }

    #[test]
    fn what_is_covered_is_forgotten() {
        let mut clock = Clock::default();
        let mut shadow = Shadow::default();
        for _ in 0..100 {
            access(&mut shadow, 0..8, true, (&mut clock, 1));
        }
        assert_eq!(shadow.0.len(), 1);
    }

    #[test]
    fn an_access_that_is_told_late_does_not_race_with_what_knows_of_it() {
        let (mut kernel, mut later) = (Clock::default(), Clock::default());
        let mut shadow = Shadow::default();
        let stamp = kernel.tick(1);
        later.join(&kernel);
        assert!(access(&mut shadow, 0..8, true, (&mut later, 2)).is_none());
        let noted = |parts: Option<Arc<[Range<usize>]>>| Noted {
            bytes: 0..8,
            parts,
            writes: true,
            actor: ACTOR,
            prunes: true,
        };
        assert!(shadow.access(noted(None), (&Arc::new(kernel), stamp)).is_none());
    }

    #[test]
    fn only_the_parts_that_were_touched_race() {
        let mut shadow = Shadow::default();
        let (mut one, mut two) = (Clock::default(), Clock::default());
        let stamp = one.tick(1);
        let parts: Arc<[Range<usize>]> = vec![0..4, 12..16].into();
        let noted =
            Noted { bytes: 0..16, parts: Some(parts), writes: true, actor: ACTOR, prunes: true };
        assert!(shadow.access(noted, (&Arc::new(one), stamp)).is_none());
        assert!(access(&mut shadow, 4..12, true, (&mut two, 2)).is_none());
        assert!(access(&mut shadow, 8..13, true, (&mut two, 2)).is_some());
        assert!(
            any_overlap(&[0..2, 6..7], &[2..4, 5..7]) && !any_overlap(&[0..2, 4..5], &[2..4, 5..9])
        );
    }
}
