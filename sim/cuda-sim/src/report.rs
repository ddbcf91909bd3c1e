//! What the simulator found wrong with a program, in words.

use std::fmt;

/// What sort of mistake it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    Race,
    UseAfterFree,
    OutOfBounds,
    DoubleFree,
    WildAddress,
    StaleHandle,
    /// Threads of a block that wait at different barriers, or never come to one.
    DivergentBarrier,
    /// A kernel that broke off for another reason.
    KernelFault,
    /// A module that is not loaded.
    InvalidPtx,
}

/// The mistakes found so far, each once.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// Whether each goes to the standard error at once.
    printed: bool,
    lines: Vec<String>,
    /// The last one, also where it was there before.
    last: Option<(Mistake, String)>,
}

/// More are counted and not kept: the first ones say what is wrong.
const KEPT: usize = 1000;

impl Reports {
    pub(crate) fn new(printed: bool) -> Self {
        Self { printed, ..Self::default() }
    }

    pub(crate) fn add(&mut self, mistake: Mistake, text: &str) {
        let line = format!("{mistake}: {text}");
        self.last = Some((mistake, text.to_owned()));
        if self.lines.len() < KEPT && !self.lines.contains(&line) {
            if self.printed {
                eprintln!("simulated driver: {line}");
            }
            self.lines.push(line);
        }
    }

    /// The text of the last report, where it is of this sort.
    pub(crate) fn last(&self, sort: Mistake) -> Option<String> {
        let (mistake, text) = self.last.as_ref()?;
        (*mistake == sort).then(|| text.clone())
    }

    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(crate) fn clear(&mut self) {
        self.lines.clear();
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Race => "race",
            Self::UseAfterFree => "use after free",
            Self::OutOfBounds => "out of bounds",
            Self::DoubleFree => "double free",
            Self::WildAddress => "wild address",
            Self::StaleHandle => "stale handle",
            Self::DivergentBarrier => "divergent barrier",
            Self::KernelFault => "kernel fault",
            Self::InvalidPtx => "invalid PTX",
        })
    }
}
