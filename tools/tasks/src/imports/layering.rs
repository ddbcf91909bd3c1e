//! The layering of a module: for each child module, the other children that it may import.
//!
//! The layering is next to the declarations of the children, in a plain comment that rustdoc does
//! not show. The root of a crate must have one, and a `mod.rs` may have one. Each row lists modules
//! and what they may import, which must be listed in earlier rows. Modules with the same imports
//! share a row, and an indented line continues the previous row.
//!
//! ```text
//! // Layering: a module may import what follows its colon. `cargo xtask imports` checks it.
//! //
//! // error, slot_ref: nothing
//! // view: error
//! // scope: error, slot_ref,
//! //     view
//! ```

use std::collections::BTreeSet;

/// The text that starts the comment.
pub(super) const OPENING: &str = "// Layering:";

/// The text for a module that imports none of its siblings.
pub(super) const NOTHING: &str = "nothing";

/// The rows of one comment. Each row follows the rows of the modules that it imports.
#[derive(Clone, Debug, Default)]
pub(super) struct Layering {
    rows: Vec<(String, BTreeSet<String>)>,
    unreadable: Vec<String>,
}

impl Layering {
    /// Reads the layering in a source. Returns `None` if there is none.
    pub(super) fn read(source: &str) -> Option<Self> {
        let lines = source.lines().skip_while(|line| !line.starts_with(OPENING));
        let comment: Vec<&str> = lines.map_while(|line| line.strip_prefix("//")).collect();
        if comment.is_empty() {
            return None;
        }
        let mut layering = Self::default();
        for row in joined(comment.into_iter().skip_while(|line| !line.is_empty())) {
            layering.add(&row);
        }
        Some(layering)
    }

    fn add(&mut self, row: &str) {
        let Some((modules, may)) = row.split_once(':') else {
            self.unreadable.push(row.to_owned());
            return;
        };
        let (modules, may) = (names(modules), names(may));
        if modules.is_empty()
            || may.is_empty()
            || !modules.iter().chain(&may).all(|name| is_name(name))
        {
            self.unreadable.push(row.to_owned());
            return;
        }
        let may: BTreeSet<String> = may.into_iter().filter(|name| name != NOTHING).collect();
        self.rows.extend(modules.into_iter().map(|module| (module, may.clone())));
    }

    /// Returns the errors in the rows themselves, given the existing modules.
    pub(super) fn faults(&self, children: &BTreeSet<&str>) -> Vec<String> {
        let mut faults = Vec::new();
        let unreadable = self.unreadable.iter();
        faults.extend(unreadable.map(|row| format!("the layering has an unreadable row: {row}")));
        let missing = children.iter().filter(|module| self.of(module).is_none());
        faults.extend(missing.map(|module| format!("the layering lacks `{module}`")));
        let mut above = BTreeSet::new();
        for (module, may) in &self.rows {
            if !children.contains(module.as_str()) {
                faults.push(format!("the layering lists `{module}`, which is not a module"));
            }
            for imported in may.iter().filter(|imported| !above.contains(imported.as_str())) {
                faults.push(format!("`{imported}` is not above `{module}` in the layering"));
            }
            if !above.insert(module.as_str()) {
                faults.push(format!("the layering lists `{module}` twice"));
            }
        }
        faults
    }

    /// Returns the modules that a module may import, or `None` if the layering does not list the
    /// module.
    pub(super) fn of(&self, module: &str) -> Option<&BTreeSet<String>> {
        self.rows.iter().find(|(name, _)| name == module).map(|(_, may)| may)
    }
}

/// Returns the rows of a comment, each joined with the indented lines that continue it.
fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        match rows.last_mut() {
            Some(row) if line.starts_with("  ") => *row = format!("{row} {}", line.trim()),
            _ => rows.push(line.trim().to_owned()),
        }
    }
    rows
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

/// Returns `true` if the text is a valid module name.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}
