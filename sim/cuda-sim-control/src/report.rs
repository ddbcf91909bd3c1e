//! A report of the simulator, as a value.

use std::fmt;

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// Two accesses to the same bytes without order, at least one of them a write.
    Race,
    /// An access to memory that was freed.
    UseAfterFree,
    /// An access beyond its allocation.
    OutOfBounds,
    /// Memory freed twice.
    DoubleFree,
    /// An access to an address that never was memory, or to memory without access rights.
    WildAddress,
    /// A handle of a destroyed object.
    StaleHandle,
    /// Threads of a block that wait at different barriers, or for one that is never reached.
    DivergentBarrier,
    /// A kernel that stopped itself, did not end, or used unaligned addresses.
    KernelFault,
    /// A module that was refused, with the line and the cause.
    InvalidPtx,
    /// A kind that this crate does not know.
    Other,
}

/// One mistake of the program under test.
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

    /// Returns the kind of the mistake.
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
