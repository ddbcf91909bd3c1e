//! The committed table that states how many refused sentences each area may still contain.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::rules::{Found, Rule};
use crate::TaskError;
use crate::checks::Outcome;

/// The allowances by area and rule. An area that has no row may contain no refused sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    rows: BTreeMap<(String, Rule), usize>,
}

impl Allowed {
    /// Returns the smallest table with which these areas pass.
    pub(super) fn of(areas: &BTreeMap<String, Found>) -> Self {
        let mut rows = BTreeMap::new();
        for (area, found) in areas {
            let needed = Rule::ALL.map(|rule| ((area.clone(), rule), found.needed(rule)));
            rows.extend(needed.into_iter().filter(|(_, figure)| *figure > 0));
        }
        Self { rows }
    }

    /// Parses lines that consist of an area, a rule and a figure. `#` starts a comment line.
    ///
    /// # Errors
    ///
    /// Fails if a line has another form, or if a row occurs twice.
    pub(super) fn parse(text: &str) -> Result<Self, TaskError> {
        let mut rows = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let row = match words[..] {
                [area, rule, figure] => {
                    Rule::named(rule).zip(figure.parse().ok()).map(|(rule, n)| (area, rule, n))
                }
                _ => None,
            };
            let (area, rule, figure) =
                row.ok_or_else(|| format!("expected an area, a rule, and a figure: {line:?}"))?;
            if rows.insert((area.to_owned(), rule), figure).is_some() {
                return Err(format!("duplicate row for an area and a rule: {line:?}").into());
            }
        }
        Ok(Self { rows })
    }

    /// Compares the figures of an area with its rows.
    pub(super) fn check(&self, area: &str, found: &Found) -> Outcome {
        let mut complaints = String::new();
        for rule in Rule::ALL {
            let (needed, allowed) = (found.needed(rule), self.get(area, rule));
            if needed > allowed {
                for refusal in found.refusals.iter().filter(|refusal| refusal.rule == rule) {
                    // Writing to a string cannot fail.
                    let _ = write!(complaints, "\n    {refusal}");
                }
            }
            if needed != allowed {
                let advice = if needed > allowed {
                    "rewrite the new sentences"
                } else {
                    "run `cargo xtask words --write` to lower the allowance"
                };
                let _ = write!(
                    complaints,
                    "\n    {area} {rule}: {needed}, but only {allowed} allowed: {advice}"
                );
            }
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints) }
    }

    /// Returns the rows whose figure is greater than in an older table, as text.
    pub(super) fn raised_over(&self, old: &Self) -> Vec<String> {
        let raised = self.rows.iter().filter_map(|((area, rule), &figure)| {
            let before = old.get(area, *rule);
            (figure > before).then(|| format!("{area} {rule}: {figure}, but only {before} allowed"))
        });
        raised.collect()
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the sum of all figures.
    pub(super) fn total(&self) -> usize {
        self.rows.values().sum()
    }

    fn get(&self, area: &str, rule: Rule) -> usize {
        self.rows.get(&(area.to_owned(), rule)).copied().unwrap_or(0)
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "# Sentences that `cargo xtask words` still allows: area, rule, figure."
        )?;
        writeln!(formatter, "# `cargo xtask words --write` lowers the figures; none may rise.")?;
        for ((area, rule), figure) in &self.rows {
            writeln!(formatter, "{area} {rule} {figure}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::rules::Found;
    use super::Allowed;

    fn found(text: &str) -> Found {
        let mut found = Found::default();
        found.read("docs/a.md", text);
        found
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let areas = BTreeMap::from([
            ("docs".to_owned(), found("Nobody waits. Whoever waits is last.\n")),
            ("tools/a".to_owned(), found("It waits.\n")),
        ]);
        let table = Allowed::of(&areas);
        assert_eq!((table.len(), table.total()), (1, 2));
        assert!(table.to_string().ends_with("\ndocs words 2\n"));
        assert_eq!(Allowed::parse(&table.to_string()).unwrap(), table);
    }

    #[test]
    fn a_malformed_row_is_refused() {
        for text in ["docs words", "docs words many", "docs spelling 3", "a words 1\na words 2"] {
            assert!(Allowed::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_sentence_too_many_is_printed_with_its_place_and_rule() {
        let table = Allowed::parse("docs words 1\n").unwrap();
        let refused =
            table.check("docs", &found("Nobody waits.\n\nWait. Whoever waits is last.\n"));
        let refused = refused.unwrap_err();
        let expected = "docs/a.md:3: words: \"whoever\" (name the actor): Whoever waits is last.";
        assert!(refused.contains(expected), "{refused}");
        assert!(refused.contains("docs words: 2, but only 1 allowed"), "{refused}");
    }

    #[test]
    fn an_allowance_above_the_need_is_refused() {
        let table = Allowed::parse("docs words 2\n").unwrap();
        let refused = table.check("docs", &found("Nobody waits.\n")).unwrap_err();
        assert!(refused.contains("docs words: 1, but only 2 allowed"), "{refused}");
        assert!(refused.contains("--write"), "{refused}");
        assert_eq!(
            Allowed::parse("docs words 1\n").unwrap().check("docs", &found("Nobody.\n")),
            Ok(())
        );
    }
}
