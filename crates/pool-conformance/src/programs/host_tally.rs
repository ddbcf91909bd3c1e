//! Counts of calls to the host's acquire methods in random programs, and of reads that found bytes
//! left behind by these calls.

use std::ops::AddAssign;

use crate::host::HostForm;

/// The number of calls to each of the host's acquire methods, and the number of later reads that
/// found bytes left behind by these calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTally {
    /// The counts of the acquire methods, in the order of their names in [`FORMS`].
    forms: [u64; FORMS.len()],
    /// The number of times that a vector moved its elements to the next slot's block.
    pub moved_vectors: u64,
    /// The number of slices that outlived their scope.
    pub kept_slices: u64,
    /// The number of arrays that outlived their scope.
    pub kept_arrays: u64,
    /// The number of panics in code that was creating elements.
    pub panics: u64,
    /// The number of refused acquires.
    pub refusals: u64,
    /// The number of reads that found bytes zeroed because an earlier use had marked them.
    pub zeroed_reads: u64,
    /// The number of reads that found poison in bytes that an earlier use had marked.
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

/// Returns the index at which [`FORMS`] lists a method's name.
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
    /// Records that an acquire method was called.
    pub(super) fn note(&mut self, form: HostForm) {
        self.forms[place_of(form)] += 1;
    }

    /// Returns every count, along with its name.
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

    /// Returns the names of all events that never happened.
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
