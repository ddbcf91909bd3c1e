//! Counts of the host's acquire methods that random programs ran, and of the bytes that they left
//! behind.

use std::ops::AddAssign;

use crate::host::HostForm;

/// Counts of the calls of each host acquire method, and of the later reads that found the contents
/// left by these calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTally {
    /// The counts, in the order of the names in [`FORMS`].
    forms: [u64; FORMS.len()],
    /// Vectors that moved to the next slot's block.
    pub moved_vectors: u64,
    /// Slices kept when their scope ended.
    pub kept_slices: u64,
    /// Arrays kept when their scope ended.
    pub kept_arrays: u64,
    /// Panics in code that creates elements.
    pub panics: u64,
    /// Acquires that were refused.
    pub refusals: u64,
    /// Recycled reads of bytes that were zeroed because an earlier use had marked them.
    pub zeroed_reads: u64,
    /// Recycled reads of such bytes that found poison.
    pub poisoned_reads: u64,
}

const FORMS: [&str; 8] = [
    "with",
    "uninit",
    "array with",
    "array uninit",
    "scratch",
    "fixed vector",
    "vector",
    "iterator",
];

/// Returns the index of a method's name.
fn place_of(form: HostForm) -> usize {
    match form {
        HostForm::With => 0,
        HostForm::Uninit => 1,
        HostForm::NdWith => 2,
        HostForm::NdUninit => 3,
        HostForm::Scratch(_) => 4,
        HostForm::FixedVec(_) => 5,
        HostForm::Vec(_) => 6,
        HostForm::FromIter => 7,
    }
}

impl HostTally {
    /// Records that a method ran.
    pub(super) fn note(&mut self, form: HostForm) {
        self.forms[place_of(form)] += 1;
    }

    /// Returns every count with its name.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let others = [
            ("moved vectors", self.moved_vectors),
            ("kept slices", self.kept_slices),
            ("kept arrays", self.kept_arrays),
            ("panics in host code", self.panics),
            ("refused host forms", self.refusals),
            ("zeroed reads", self.zeroed_reads),
            ("poisoned reads", self.poisoned_reads),
        ];
        FORMS.into_iter().zip(self.forms).chain(others)
    }

    /// Returns the names of the events that never happened.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        self.numbers().filter(|&(_, count)| count == 0).map(|(name, _)| name).collect()
    }
}

impl AddAssign for HostTally {
    fn add_assign(&mut self, other: Self) {
        for (count, more) in self.forms.iter_mut().zip(other.forms) {
            *count += more;
        }
        self.moved_vectors += other.moved_vectors;
        self.kept_slices += other.kept_slices;
        self.kept_arrays += other.kept_arrays;
        self.panics += other.panics;
        self.refusals += other.refusals;
        self.zeroed_reads += other.zeroed_reads;
        self.poisoned_reads += other.poisoned_reads;
    }
}
