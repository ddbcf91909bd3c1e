//! The steps of a body, stored as rolling hashes. They show where a capture diverges from the dry
//! run of its plan.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::base::block::BlockId;

/// One step of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BodyStep {
    /// Memory was allocated.
    Acquire { stream: usize, bytes: u64 },
    /// The pool of a scope allocated a block.
    Block { stream: usize, bytes: u64 },
    /// A scope was opened or closed.
    Scope { stream: usize, opens: bool },
    /// An operation of some kind on a stream, with the memory it uses and `true` for a write.
    Operation { kind: &'static str, stream: usize, uses: Vec<(Memory, bool)> },
    /// A host argument received its number, counted from 0.
    Argument { number: usize },
    /// One stream waits for another.
    Wait { later: usize, earlier: usize },
}

/// The name of memory in steps. It is unique, and the same in every run of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Memory {
    /// The n-th temporary that the body allocates, including blocks of scopes.
    Temporary(usize),
    /// A block of a pool. Using another block is another step, because graphs may share blocks.
    Block(BlockId),
    /// The n-th memory range that the session owns.
    Owned(usize),
}

/// The trace of a body: the hash after each step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    after: Vec<u64>,
}

impl Trace {
    pub(crate) fn add(&mut self, step: &BodyStep) {
        let mut hasher = DefaultHasher::new();
        (self.after.last(), step).hash(&mut hasher);
        self.after.push(hasher.finish());
    }

    pub(crate) fn steps(&self) -> usize {
        self.after.len()
    }

    /// Returns the number, counted from 1, of the first step that differs between the two traces.
    /// If one trace is shorter, the step after its end counts as different.
    pub(crate) fn leaves(&self, other: &Self) -> Option<usize> {
        let same = self.after.iter().zip(&other.after).take_while(|(own, other)| own == other);
        (self != other).then(|| same.count() + 1)
    }

    /// Returns `true` if the other trace begins with all steps of this trace.
    pub(crate) fn begins(&self, other: &Self) -> bool {
        match self.after.len().checked_sub(1) {
            None => true,
            Some(last) => other.after.get(last) == self.after.last(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BodyStep, Trace};

    #[test]
    fn a_trace_leaves_another_where_they_differ() {
        let acquire = |bytes| BodyStep::Acquire { stream: 0, bytes };
        let mut planned = Trace::default();
        planned.add(&acquire(256));
        planned.add(&acquire(512));
        let mut followed = Trace::default();
        assert!(followed.begins(&planned));
        followed.add(&acquire(256));
        assert!(followed.begins(&planned) && followed != planned);
        let mut left = followed.clone();
        left.add(&acquire(256));
        assert!(!left.begins(&planned));
        followed.add(&acquire(512));
        assert_eq!(followed, planned);
        followed.add(&acquire(512));
        assert!(!followed.begins(&planned), "the other one has ended");
        assert_eq!(planned.steps(), 2);
        assert_eq!((planned.leaves(&planned), left.leaves(&planned)), (None, Some(2)));
        assert_eq!((followed.leaves(&planned), planned.leaves(&followed)), (Some(3), Some(3)));
    }
}
