//! An operation of many threads: what CUDA C++ writes, and what the host computes for all of them at once.

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
        Self { text, party, operands, result, function: Box::new(function) }
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
