//! An operation of many threads: its CUDA C++, and the host's computation for all of them at once.

use std::collections::HashSet;

use super::values::Type;

/// A thread that takes part.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its lane in the warp, or its place in the block for an operation of blocks.
    pub(super) place: usize,
    pub(super) operands: Vec<u64>,
}

/// Computes the results of all participants, in the order of their places; `None` if undefined.
pub(super) type Function = Box<dyn Fn(&[Member]) -> Vec<Option<u64>>>;

/// The participants of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    /// Threads of a warp in a mask.
    Lanes,
    /// All threads of the block.
    Block,
}

/// An operation of many threads.
pub(super) struct Collective {
    /// Statements that set `value` from the operands `a0` and `a1`. They use the thread `i` of the
    /// block, its `lane`, and cells `slots` of shared memory. `m` is the mask of the participants,
    /// `whole` that of all lanes of the warp.
    pub(super) text: String,
    pub(super) party: Party,
    pub(super) operands: Vec<Type>,
    pub(super) result: Type,
    pub(super) function: Function,
    /// The family, whose members differ in types and widths alone.
    family: String,
}

/// Keeps the first of each family.
pub(super) fn one_of_each_family(all: &mut Vec<Collective>) {
    let mut families = HashSet::new();
    all.retain(|one| families.insert(one.family.clone()));
}

impl Collective {
    pub(super) fn new(
        party: Party,
        text: &str,
        operands: &[Type],
        result: Type,
        function: impl Fn(&[Member]) -> Vec<Option<u64>> + 'static,
    ) -> Self {
        let (text, operands) = (text.to_owned(), operands.to_vec());
        let family = format!("{result:?}: {text}");
        Self { text, party, operands, result, function: Box::new(function), family }
    }

    /// Assigns a family.
    pub(super) fn in_family(self, family: &str) -> Self {
        Self { family: family.to_owned(), ..self }
    }

    /// Returns an operation with the same result for all, computed from the first operands of all.
    pub(super) fn of_all(
        party: Party,
        text: &str,
        operand: Type,
        result: Type,
        function: impl Fn(&[u64]) -> u64 + 'static,
    ) -> Self {
        Self::new(party, text, &[operand], result, move |members| {
            let values: Vec<u64> = members.iter().map(|member| member.operands[0]).collect();
            vec![Some(function(&values)); members.len()]
        })
    }
}

/// A predicate of `a0`: as C++, and on the host.
type Question = (&'static str, fn(u64) -> bool);

/// Predicates that few threads satisfy, and nearly all.
pub(super) const QUESTIONS: [Question; 2] =
    [("a0 % 64u == 7u", |a| a % 64 == 7), ("a0 % 64u != 7u", |a| a % 64 != 7)];

#[cfg(test)]
mod tests {
    use super::super::{block, warp};
    use super::{Collective, one_of_each_family};

    #[test]
    fn types_and_widths_alone_are_left_out() {
        let operations = || warp::operations().into_iter().chain(block::operations());
        let mut left: Vec<Collective> = operations().collect();
        one_of_each_family(&mut left);
        let count = |part: &str| left.iter().filter(|one| one.text.contains(part)).count();
        for mode in ["_up", "_down", "_xor", ""] {
            assert_eq!(count(&format!("__shfl{mode}_sync(")), 1, "{mode}");
        }
        for mode in ["up", "down", "bfly", "idx"] {
            assert_eq!(count(&format!("shfl.sync.{mode}.b32")), 1, "{mode}");
        }
        // Each predicate, and the ballot also for ranks.
        for (vote, expected) in [("__all", 2), ("__any", 2), ("__uni", 2), ("__ballot", 4)] {
            assert_eq!(count(&format!("{vote}_sync(")), expected, "{vote}");
        }
        for (sum, expected) in [("add", 2), ("min", 2), ("max", 2), ("and", 1), ("or", 1)] {
            assert_eq!(count(&format!("__reduce_{sum}_sync(")), expected, "{sum}");
        }
        for (meeting, expected) in [("__syncwarp", 1), ("bar.sync 3", 1), ("__syncthreads_or", 2)] {
            assert_eq!(count(meeting), expected, "{meeting}");
        }
        assert!(left.len() * 5 < operations().count(), "{} are left", left.len());
    }
}
