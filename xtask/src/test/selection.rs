//! Which steps run: all of a plain run, or those that `--only` names.

use super::steps::{STEPS, Step};
use crate::TaskError;

/// The steps of this run, in their order.
///
/// A name selects the step it names, or else every step that starts with it: `miri` is all of Miri.
///
/// # Errors
///
/// When a name selects nothing.
pub(crate) fn select(only: &[String], full: bool) -> Result<Vec<Step>, TaskError> {
    if only.is_empty() {
        return Ok(STEPS.iter().copied().filter(|step| full || !step.only_in_full).collect());
    }
    if let Some(unknown) = only.iter().find(|name| !STEPS.iter().any(|step| names(name, step))) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("no step is called {unknown}; there are {}", known.join(", ")).into());
    }
    let wanted = |step: &Step| only.iter().any(|name| names(name, step));
    Ok(STEPS.iter().copied().filter(wanted).collect())
}

fn names(name: &str, step: &Step) -> bool {
    step.name == name
        || (step.name.starts_with(name) && STEPS.iter().all(|other| other.name != name))
}

/// The steps as `--list` prints them.
pub(crate) fn list() -> String {
    let width = STEPS.iter().map(|step| step.name.len()).max().unwrap_or_default();
    let line = |step: &Step| {
        let when = if step.only_in_full { " (with --full)" } else { "" };
        format!("{:width$}  {}{when}\n", step.name, step.about)
    };
    STEPS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{STEPS, list, select};

    fn selected(only: &[&str], full: bool) -> Vec<&'static str> {
        let only: Vec<String> = only.iter().copied().map(str::to_owned).collect();
        select(&only, full).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn a_plain_run_leaves_out_what_only_a_full_run_has() {
        let plain = selected(&[], false);
        assert!(!plain.contains(&"miri-32-bit") && plain.contains(&"clippy"));
        assert_eq!(selected(&[], true).len(), STEPS.len());
    }

    #[test]
    fn a_name_is_exact_before_it_is_a_prefix() {
        assert_eq!(selected(&["tests"], false), ["tests"]);
        assert_eq!(selected(&["doc"], false), ["documentation", "doc-tests"]);
        assert_eq!(selected(&["miri-3", "formatting"], false), ["formatting", "miri-32-bit"]);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let refusal = select(&["tests".to_owned(), "lint".to_owned()], false).unwrap_err();
        let refusal = refusal.to_string();
        assert!(refusal.contains("lint") && refusal.contains("thread-sanitizer"), "{refusal}");
    }

    #[test]
    fn names_are_unique_and_listed() {
        let list = list();
        for step in STEPS {
            assert_eq!(STEPS.iter().filter(|other| other.name == step.name).count(), 1);
            assert!(list.contains(step.name));
        }
    }
}
