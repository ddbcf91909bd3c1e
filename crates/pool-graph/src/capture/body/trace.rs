//! A body's steps, stored as a sequence of hashes. Comparing the hashes reveals the first step at
//! which a capture differs from the dry run used to create its plan.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::base::block::BlockId;

/// A single step in a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BodyStep {
    /// The body allocated a temporary.
    Acquire { stream: usize, bytes: u64 },
    /// A scope's pool allocated a block.
    Block { stream: usize, bytes: u64 },
    /// The body opened or closed a scope.
    Scope { stream: usize, opens: bool },
    /// The body enqueued an operation on a stream. Each entry of `uses` names memory that the
    /// operation uses, and has a flag that is `true` if the operation writes to it.
    Operation { kind: &'static str, stream: usize, uses: Vec<(Memory, bool)> },
    /// A host argument was assigned a number. Arguments are numbered from 0.
    Argument { number: usize },
    /// One stream waits for another stream.
    Wait { later: usize, earlier: usize },
}

/// A name for memory that a step uses. The name is unique within the body and stays the same in
/// every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Memory {
    /// A temporary or a scope's block. Temporaries and scope blocks share one sequence of numbers
    /// that starts at 0.
    Temporary(usize),
    /// A block of a graph memory pool. A step that uses a different block counts as different,
    /// because graphs may share blocks.
    Block(BlockId),
    /// Memory that the session owns. The number is an index into the session's list of owned
    /// memory.
    Owned(usize),
}

/// A body's trace. For each step, the trace stores a hash of that step and all earlier ones.
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

    /// Returns the number of the first step at which two traces differ. Steps are numbered from 1.
    /// If one trace is a prefix of the other, the first extra step counts as different.
    pub(crate) fn leaves(&self, other: &Self) -> Option<usize> {
        let same = self.after.iter().zip(&other.after).take_while(|(own, other)| own == other);
        (self != other).then(|| same.count() + 1)
    }

    /// Returns `true` if this trace is a prefix of the other one.
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
