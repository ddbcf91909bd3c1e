//! Prints the findings at the end of the process, and makes the process fail if there are any.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::process;
use std::sync::OnceLock;
use std::time::Duration;

use cuda_sim::Findings;

use crate::error::StartError;
use crate::loader;
use crate::options::Leaks;

/// The exit code of a process that would exit with 0, but has findings or could not start the
/// simulator before `main`.
pub const EXIT_CODE: i32 = 3;

/// How long the end of the process waits while another thread holds the simulator.
const PATIENCE: Duration = Duration::from_secs(10);

/// The process that registered the exit function.
#[derive(Debug)]
struct Process {
    /// The process ID. A forked child has a different ID.
    id: u32,
    leaks: Leaks,
    seed: u64,
}

static PROCESS: OnceLock<Process> = OnceLock::new();

/// Registers a function that prints the findings when this process ends.
///
/// # Errors
///
/// Fails if the C library cannot register the function.
pub(crate) fn register(leaks: Leaks, seed: u64) -> Result<(), StartError> {
    let is_first = PROCESS.set(Process { id: process::id(), leaks, seed }).is_ok();
    if is_first && !loader::at_exit(ended) {
        return Err(StartError::NoExitFunction);
    }
    Ok(())
}

/// Runs when the process ends with this code.
extern "C" fn ended(code: c_int, _: *mut c_void) {
    let Some(Process { id, leaks, seed }) = PROCESS.get() else { return };
    if *id != process::id() {
        return;
    }
    let Some(findings) = cuda_sim::last_findings(PATIENCE) else {
        eprintln!(
            "cuda-sim-test: a thread kept the simulated driver busy for {PATIENCE:?}, so the findings are unknown"
        );
        fail_instead_of(code);
        return;
    };
    let summary = Summary { findings: &findings, leaks: *leaks, seed: *seed };
    if summary.has_anything() {
        eprint!("{summary}");
    }
    if summary.is_failure() {
        fail_instead_of(code);
    }
}

/// Replaces the exit code of a process that would succeed.
fn fail_instead_of(code: c_int) {
    if code == 0 {
        eprintln!(
            "cuda-sim-test: the process itself succeeded, but it exits with code {EXIT_CODE} because of the findings above"
        );
        loader::end(EXIT_CODE);
    }
}

/// The summary that is printed.
#[derive(Clone, Copy, Debug)]
struct Summary<'f> {
    findings: &'f Findings,
    leaks: Leaks,
    seed: u64,
}

impl Summary<'_> {
    fn shown_leaks(&self) -> &[String] {
        if self.leaks == Leaks::Ignore { &[] } else { &self.findings.leaks }
    }

    fn has_anything(&self) -> bool {
        !self.findings.reports.is_empty() || !self.shown_leaks().is_empty()
    }

    fn is_failure(&self) -> bool {
        let leaks = self.leaks == Leaks::Fail && !self.findings.leaks.is_empty();
        leaks || !self.findings.reports.is_empty()
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reports, leaks) = (&self.findings.reports, self.shown_leaks());
        writeln!(
            formatter,
            "\ncuda-sim-test: the simulated CUDA driver found {}, {} (CUDA_SIM_SEED={})",
            counted(reports.len(), "mistake"),
            counted(leaks.len(), "leak"),
            self.seed
        )?;
        first_of(formatter, reports, "")?;
        first_of(formatter, leaks, "leak: ")?;
        for (start, part, advice) in ADVICE {
            if reports.iter().any(|report| report.starts_with(start) && report.contains(part)) {
                writeln!(formatter, "cuda-sim-test: {advice}")?;
            }
        }
        if !leaks.is_empty() {
            writeln!(formatter, "cuda-sim-test: {LEAK}")?;
        }
        Ok(())
    }
}

/// Prints the first lines of a list, because they show the cause.
fn first_of(formatter: &mut fmt::Formatter<'_>, lines: &[String], kind: &str) -> fmt::Result {
    for line in lines.iter().take(SHOWN) {
        writeln!(formatter, "  {kind}{line}")?;
    }
    if lines.len() > SHOWN {
        let rest = lines.len() - SHOWN;
        writeln!(formatter, "  {kind}… {rest} more; CUDA_SIM_PRINT_REPORTS=1 prints all reports")?;
    }
    Ok(())
}

/// The number of lines that are printed for each kind.
const SHOWN: usize = 10;

/// Advice, selected by the start of a report and a part of its text.
const ADVICE: &[(&str, &str, &str)] = &[
    (
        "race: ",
        "(stream ",
        "a race between streams lacks an event: record it after the access that is reported last, and wait for it before \
         the other access",
    ),
    (
        "race: ",
        ", thread (",
        "a race inside a kernel lacks a barrier between the two PTX lines if the blocks are the same; if the blocks differ, \
         it lacks another launch or atomic accesses",
    ),
    ("race: ", "node", "a race inside a graph lacks an edge between the two nodes"),
    ("invalid PTX: ", "", "PTX is supported up to version 9.0, for targets up to sm_90"),
];

const LEAK: &str = "a leak is an object that is not dropped when the process ends, including an object in a static; CUDA_SIM_LEAKS=ignore turns this check off";

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use cuda_sim::Findings;

    use super::{Leaks, Summary};

    #[test]
    fn leaks_fail_are_printed_or_ignored_and_reports_always_fail() {
        let mut findings = Findings::default();
        findings.leaks = vec!["4 bytes".to_owned()];
        let of = |leaks| {
            let summary = Summary { findings: &findings, leaks, seed: 7 };
            (summary.has_anything(), summary.is_failure())
        };
        assert_eq!(of(Leaks::Fail), (true, true));
        assert_eq!(of(Leaks::Print), (true, false));
        assert_eq!(of(Leaks::Ignore), (false, false));
        findings.reports = vec!["race: one and two".to_owned()];
        let summary = Summary { findings: &findings, leaks: Leaks::Ignore, seed: 7 };
        assert!(summary.has_anything() && summary.is_failure());
        let text = summary.to_string();
        assert!(text.contains("found 1 mistake, 0 leaks (CUDA_SIM_SEED=7)\n  race: one and two\n"));
        assert!(!text.contains("4 bytes") && !text.contains("lacks"), "{text}");
    }

    #[test]
    fn a_race_is_followed_by_what_it_lacks_and_of_many_the_first_are_printed() {
        let mut findings = Findings::default();
        findings.reports = vec!["race: copy (stream 1, operation 2) reads".to_owned()];
        let of =
            |findings: &Findings| Summary { findings, leaks: Leaks::Fail, seed: 0 }.to_string();
        let text = of(&findings);
        assert!(text.contains("lacks an event") && !text.contains("barrier"), "{text}");
        findings.reports =
            (0..30).map(|line| format!("race: k, thread (0, 0, 0), line {line}")).collect();
        let text = of(&findings);
        assert!(text.contains("lacks a barrier") && text.contains("… 20 more"), "{text}");
    }
}
