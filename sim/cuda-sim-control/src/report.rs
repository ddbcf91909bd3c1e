//! A parsed report of the simulator.

use std::fmt;

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// Two unordered accesses to the same bytes, and at least one of them is a write.
    Race,
    /// An access to memory that has been freed.
    UseAfterFree,
    /// An access past the end of its allocation.
    OutOfBounds,
    /// Memory that is freed twice.
    DoubleFree,
    /// An access to an address that was never allocated, or to memory without access rights.
    WildAddress,
    /// A handle whose object has been destroyed.
    StaleHandle,
    /// Threads of a block wait at different barriers, or some never reach the barrier.
    DivergentBarrier,
    /// A kernel stopped itself, did not end, or accessed an unaligned address.
    KernelFault,
    /// A module was refused. The report contains the line and the cause.
    InvalidPtx,
    /// A kind of mistake that this crate does not know.
    Other,
}

/// A mistake in the program under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    mistake: Mistake,
    text: String,
}

impl Report {
    pub(crate) fn parse(line: &str) -> Self {
        let known = [
            ("race: ", Mistake::Race),
            ("use after free: ", Mistake::UseAfterFree),
            ("out of bounds: ", Mistake::OutOfBounds),
            ("double free: ", Mistake::DoubleFree),
            ("wild address: ", Mistake::WildAddress),
            ("stale handle: ", Mistake::StaleHandle),
            ("divergent barrier: ", Mistake::DivergentBarrier),
            ("kernel fault: ", Mistake::KernelFault),
            ("invalid PTX: ", Mistake::InvalidPtx),
        ];
        let found = known.iter().find(|(start, _)| line.starts_with(start));
        let mistake = found.map_or(Mistake::Other, |(_, mistake)| *mistake);
        Self { mistake, text: line.to_owned() }
    }

    /// Returns which kind of mistake this is.
    #[must_use]
    pub fn mistake(&self) -> Mistake {
        self.mistake
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Mistake, Report};

    #[test]
    fn a_line_tells_its_mistake() {
        let report = Report::parse("race: one and two");
        assert_eq!(report.mistake(), Mistake::Race);
        assert_eq!(report.to_string(), "race: one and two");
        assert_eq!(Report::parse("what is this").mistake(), Mistake::Other);
    }
}
