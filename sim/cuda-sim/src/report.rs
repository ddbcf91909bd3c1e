//! Reports that describe mistakes in a program.

use std::fmt;

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    Race,
    UseAfterFree,
    OutOfBounds,
    DoubleFree,
    WildAddress,
    StaleHandle,
    /// Threads of a block wait at different barriers, or some never reach a barrier.
    DivergentBarrier,
    /// A kernel ended for another reason.
    KernelFault,
    /// A module was refused.
    InvalidPtx,
}

/// The distinct mistakes found so far.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// `true` if each report is printed to standard error immediately.
    printed: bool,
    lines: Vec<String>,
    /// The last report, even if it repeats an earlier one.
    last: Option<(Mistake, String)>,
}

/// The number of reports that are kept. Later reports are only counted, because the first ones show
/// the cause.
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

    /// Returns the text of the last report if it is of the given kind.
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
