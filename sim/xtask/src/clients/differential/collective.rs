//! An operation by many threads: its CUDA C++ code, and a host function that computes the results
//! of all threads.

use std::collections::HashSet;

use super::values::Type;

/// A thread that takes part in an operation.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The thread's lane in the warp or, for operations of blocks, its position in the block.
    pub(super) place: usize,
    pub(super) operands: Vec<u64>,
}

/// Computes the results of all participants, ordered by position. A result is `None` if it is
/// undefined.
pub(super) type Function = Box<dyn Fn(&[Member]) -> Vec<Option<u64>>>;

/// The threads that take part in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    /// The threads of a warp that a mask selects.
    Lanes,
    /// All threads of the block.
    Block,
}

/// An operation by many threads.
pub(super) struct Collective {
    /// Statements that compute `value` from the operands `a0` and `a1`. They use `i`, the thread's
    /// number in the block; its `lane`; and the cells `slots` in shared memory. `m` is the mask of
    /// the participants, and `whole` the mask of all lanes in the warp.
    pub(super) text: String,
    pub(super) party: Party,
    pub(super) operands: Vec<Type>,
    pub(super) result: Type,
    pub(super) function: Function,
    /// The family. Its members differ only in types and widths.
    family: String,
}

/// Keeps the first operation of each family.
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

    /// Assigns the operation to a family.
    pub(super) fn in_family(self, family: &str) -> Self {
        Self { family: family.to_owned(), ..self }
    }

    /// Returns an operation whose result is the same for all threads and depends on all first
    /// operands.
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

/// A predicate of `a0`, in C++ and as a host function.
type Question = (&'static str, fn(u64) -> bool);

/// Predicates that hold for few threads, and for nearly all threads.
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
        // Each vote is tested with each predicate, and the ballot is also used for ranks.
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
