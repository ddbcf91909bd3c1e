//! An operation of many threads: what CUDA C++ writes, and what the host computes for all of them at once.

use std::collections::HashSet;

use super::values::Type;

/// A thread that takes part.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its lane in the warp; of an operation of blocks, its place in the block.
    pub(super) place: usize,
    pub(super) operands: Vec<u64>,
}

/// Of all that take part, in the order of their places, the results in that order; none where nothing defines one.
pub(super) type Function = Box<dyn Fn(&[Member]) -> Vec<Option<u64>>>;

/// Whom an operation brings together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    /// Threads of a warp that a mask names.
    Lanes,
    /// All threads of the block.
    Block,
}

/// An operation of many threads.
pub(super) struct Collective {
    /// Statements that set `value`, of operands `a0` and `a1`. They know their thread `i` of the block, its `lane`, the
    /// mask `m` of those that take part, the mask `whole` of all that the warp has, and cells `slots` of shared memory.
    pub(super) text: String,
    pub(super) party: Party,
    pub(super) operands: Vec<Type>,
    pub(super) result: Type,
    pub(super) function: Function,
    /// What it has in common with those that differ from it in types and widths alone.
    family: String,
}

/// Leaves one of each family, the first.
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

    /// Of a family with others, and not of one by itself.
    pub(super) fn in_family(self, family: &str) -> Self {
        Self { family: family.to_owned(), ..self }
    }

    /// One that gives everybody the same, of the first operands of all.
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

/// A question about `a0`: as C++, and by the host.
type Question = (&'static str, fn(u64) -> bool);

/// Questions that few threads answer with yes, and nearly all.
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
        // Each question, and the ballot also for ranks.
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
