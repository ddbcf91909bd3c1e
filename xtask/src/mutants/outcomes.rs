//! Reads the outcomes of `cargo mutants` from its `outcomes.json`.

use std::path::Path;

use serde::Deserialize;

use crate::TaskError;

/// The outcomes for the mutants in an area.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcomes {
    /// The number of mutants for which a test failed.
    pub(super) caught: usize,
    /// The names of mutants whose tests did not finish. Such a mutant counts as detected.
    pub(super) hung: Vec<String>,
    /// The number of mutants that do not compile.
    pub(super) unviable: usize,
    /// The names of mutants for which all tests passed.
    pub(super) survived: Vec<String>,
    /// The number of seconds that building and testing the mutants took.
    pub(super) seconds: f64,
}

/// The part of the file that this code reads.
#[derive(Deserialize)]
struct Report {
    outcomes: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    scenario: Scenario,
    summary: Summary,
    phase_results: Vec<Phase>,
}

#[derive(Deserialize)]
enum Scenario {
    /// The unmodified sources.
    Baseline,
    Mutant(Mutant),
}

/// The name of a mutant: `file:line:column: change`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Mutant {
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Summary {
    Success,
    CaughtMutant,
    MissedMutant,
    Unviable,
    Timeout,
    Failure,
}

#[derive(Deserialize)]
struct Phase {
    duration: f64,
}

impl Outcomes {
    /// Reads the outcomes of the selected mutants from the file.
    ///
    /// # Errors
    ///
    /// Fails if the file is missing or has another form, if the tests fail without a mutant, or if
    /// a selected mutant is missing or has no clear outcome.
    pub(super) fn read(file: &Path, drawn: &[Mutant]) -> Result<Self, TaskError> {
        let outcomes = Self::parse(&std::fs::read_to_string(file)?, drawn)?;
        if outcomes.count() == drawn.len() {
            return Ok(outcomes);
        }
        Err(format!("only {} of {} mutants were tried", outcomes.count(), drawn.len()).into())
    }

    fn parse(text: &str, drawn: &[Mutant]) -> Result<Self, TaskError> {
        let Report { outcomes } = serde_json::from_str(text)?;
        let mut all = Self::default();
        for Entry { scenario, summary, phase_results } in outcomes {
            let Scenario::Mutant(mutant) = scenario else {
                if summary != Summary::Success {
                    return Err("the tests fail without a mutant".into());
                }
                continue;
            };
            // Version 27.1.0 also removes struct fields that are not among the given names.
            if !drawn.contains(&mutant) {
                continue;
            }
            let name = mutant.name;
            all.seconds += phase_results.iter().map(|phase| phase.duration).sum::<f64>();
            match summary {
                Summary::CaughtMutant => all.caught += 1,
                Summary::MissedMutant => all.survived.push(name),
                Summary::Unviable => all.unviable += 1,
                Summary::Timeout => all.hung.push(name),
                Summary::Success | Summary::Failure => {
                    return Err(format!("{name}: cargo mutants reports no outcome").into());
                }
            }
        }
        Ok(all)
    }

    /// Returns the number of mutants.
    pub(super) fn count(&self) -> usize {
        self.caught + self.hung.len() + self.unviable + self.survived.len()
    }
}

/// Parses the mutants that `cargo mutants --list --json` prints.
///
/// # Errors
///
/// Fails if the output has another form.
pub(super) fn listed(json: &[u8]) -> Result<Vec<Mutant>, TaskError> {
    Ok(serde_json::from_slice(json)?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Entry, Mutant, Outcomes, Report, Scenario, listed};

    /// A part of a file that version 27.1.0 has written.
    const SAMPLE: &str = include_str!("sample.json");

    /// Returns all mutants in the sample.
    fn drawn() -> Vec<Mutant> {
        let report: Report = serde_json::from_str(SAMPLE).unwrap();
        let mutant = |entry: Entry| match entry.scenario {
            Scenario::Mutant(mutant) => Some(mutant),
            Scenario::Baseline => None,
        };
        report.outcomes.into_iter().filter_map(mutant).collect()
    }

    #[test]
    fn every_kind_of_ending_is_counted() {
        let outcomes = Outcomes::parse(SAMPLE, &drawn()).unwrap();
        assert_eq!((outcomes.caught, outcomes.unviable, outcomes.count()), (2, 1, 5));
        let [survived] = &outcomes.survived[..] else { panic!("one survives") };
        assert!(survived.ends_with("replace && with || in check_sharing"), "{survived}");
        let [hung] = &outcomes.hung[..] else { panic!("one hangs") };
        assert!(hung.starts_with("crates/pool-graph/src/ledger/mod.rs:109:34: "), "{hung}");
    }

    #[test]
    fn a_baseline_costs_nothing() {
        let seconds = Outcomes::parse(SAMPLE, &drawn()).unwrap().seconds;
        assert!((60.0..61.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn those_that_were_drawn_are_counted_and_no_others() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mutants/sample.json");
        let all = drawn();
        assert_eq!(Outcomes::read(&file, &all).unwrap().count(), 5);
        assert_eq!(Outcomes::read(&file, &all[..3]).unwrap().count(), 3);
        let unheard = Mutant { name: "a.rs:1:2: delete !".to_owned() };
        let error = Outcomes::read(&file, &[unheard]).unwrap_err().to_string();
        assert_eq!(error, "only 0 of 1 mutants were tried");
    }

    #[test]
    fn tests_that_fail_anyway_judge_nothing() {
        let baseline = |summary| format!(r#""scenario": "Baseline", "summary": "{summary}""#);
        assert!(SAMPLE.contains(&baseline("Success")));
        let failing = SAMPLE.replace(&baseline("Success"), &baseline("Failure"));
        let error = Outcomes::parse(&failing, &[]).unwrap_err().to_string();
        assert_eq!(error, "the tests fail without a mutant");
        let odd = SAMPLE.replace("\"Unviable\"", "\"Failure\"");
        let error = Outcomes::parse(&odd, &drawn()).unwrap_err().to_string();
        assert!(error.contains("reports no outcome"), "{error}");
        let unheard = SAMPLE.replace("\"Unviable\"", "\"Unheard\"");
        assert!(Outcomes::parse(&unheard, &[]).is_err() && Outcomes::parse("{}", &[]).is_err());
    }

    #[test]
    fn a_list_gives_names() {
        let json =
            br#"[{"name": "a.rs:1:2: replace f with ()", "package": "a", "genre": "FnValue"}]"#;
        let name = "a.rs:1:2: replace f with ()".to_owned();
        assert_eq!(listed(json).unwrap(), [Mutant { name }]);
        assert!(listed(b"a.rs:1:2: replace f with ()").is_err());
    }
}
