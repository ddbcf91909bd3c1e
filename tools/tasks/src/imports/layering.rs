//! The layering of a module: what each of its child modules may import of the others.
//!
//! It stands where the children are declared, as a plain comment, which rustdoc does not show. The root of a crate must
//! have one; a `mod.rs` may. Each row names modules and what they may import; what they may import stands above them.
//! Modules with the same imports share a row, and an indented line continues the row above it.
//!
//! ```text
//! // Layering: a module may import what follows its colon. `cargo xtask imports` checks it.
//! //
//! // error, slot_ref: nothing
//! // view: error
//! // scope: error, slot_ref,
//! //     view
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::circles::shown;
use super::modules::{ModulePath, Modules};
use super::resolve::Imports;

/// The first words of the comment.
const OPENING: &str = "// Layering:";

/// The imports of a module that imports none of its siblings.
const NOTHING: &str = "nothing";

/// The rows of one comment, from the ground up.
#[derive(Clone, Debug, Default)]
pub(super) struct Layering {
    rows: Vec<(String, BTreeSet<String>)>,
    unreadable: Vec<String>,
}

impl Layering {
    /// Reads the comment in a source; `None` where there is none.
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

    /// Errors of the rows themselves, given the modules that there are.
    fn faults(&self, children: &BTreeSet<&str>) -> Vec<String> {
        let mut faults = Vec::new();
        let unreadable = self.unreadable.iter();
        faults.extend(unreadable.map(|row| format!("the layering has an unreadable row: {row}")));
        let missing = children.iter().filter(|module| self.of(module).is_none());
        faults.extend(missing.map(|module| format!("the layering lacks `{module}`")));
        let mut above = BTreeSet::new();
        for (module, may) in &self.rows {
            if !children.contains(module.as_str()) {
                faults.push(format!("the layering has `{module}`, which is no module"));
            }
            for imported in may.iter().filter(|imported| !above.contains(imported.as_str())) {
                faults
                    .push(format!("`{imported}` does not stand above `{module}` in the layering"));
            }
            if !above.insert(module.as_str()) {
                faults.push(format!("the layering names `{module}` twice"));
            }
        }
        faults
    }

    /// What a module may import; `None` where the layering lacks it.
    fn of(&self, module: &str) -> Option<&BTreeSet<String>> {
        self.rows.iter().find(|(name, _)| name == module).map(|(_, may)| may)
    }
}

/// What there is against a crate's imports by its layerings.
pub(super) fn complaints(name: &str, modules: &Modules, imports: &Imports) -> Vec<String> {
    let mut complaints = Vec::new();
    if !modules.layerings().any(|(parent, _)| parent.is_empty()) {
        complaints.push(format!("{name}: the root module has no comment `{OPENING}`"));
    }
    for (parent, layering) in modules.layerings() {
        let place = place(name, parent);
        let children: BTreeSet<&str> =
            modules.iter().filter_map(|(module, _)| child(parent, module)).collect();
        let faults = layering.faults(&children).into_iter();
        complaints.extend(faults.map(|fault| format!("{place}: {fault}")));
        for (from, to) in imports {
            let (Some(importer), Some(imported)) = (child(parent, from), child(parent, to)) else {
                continue;
            };
            let may = layering.of(importer);
            if importer != imported && may.is_some_and(|may| !may.contains(imported)) {
                let (from, to) = (shown(from), shown(to));
                complaints.push(format!(
                    "{name}: {from} imports {to}, and `{importer}` may not import `{imported}`"
                ));
            }
        }
    }
    complaints
}

/// What the modules import of each other, as the layerings that would allow just that.
pub(super) fn listed(name: &str, modules: &Modules, imports: &Imports) -> String {
    let mut text = String::new();
    let root = ModulePath::new();
    let nested = modules.layerings().map(|(parent, _)| parent).filter(|parent| !parent.is_empty());
    for parent in std::iter::once(&root).chain(nested) {
        text += &format!("\n{}\n\n", place(name, parent));
        for (module, may) in from_the_ground_up(imported_by_children(parent, modules, imports)) {
            let may: Vec<&str> = may.into_iter().collect();
            let may = if may.is_empty() { NOTHING.to_owned() } else { may.join(", ") };
            text += &format!("// {module}: {may}\n");
        }
    }
    text
}

fn imported_by_children<'a>(
    parent: &[String],
    modules: &'a Modules,
    imports: &'a Imports,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let children = modules.iter().filter_map(|(module, _)| child(parent, module));
    let mut imported: BTreeMap<&str, BTreeSet<&str>> =
        children.map(|module| (module, BTreeSet::new())).collect();
    for (from, to) in imports {
        let (Some(from), Some(to)) = (child(parent, from), child(parent, to)) else { continue };
        if let Some(imported) = imported.get_mut(from).filter(|_| from != to) {
            imported.insert(to);
        }
    }
    imported
}

/// Each module after those that it imports; those of a circle come last.
fn from_the_ground_up<'a>(
    mut left: BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> Vec<(&'a str, BTreeSet<&'a str>)> {
    let mut sorted = Vec::new();
    while !left.is_empty() {
        let is_ready = |may: &BTreeSet<&str>| may.iter().all(|one| !left.contains_key(one));
        let ready: Vec<&str> =
            left.iter().filter(|(_, may)| is_ready(may)).map(|(module, _)| *module).collect();
        if ready.is_empty() {
            sorted.extend(left);
            break;
        }
        sorted.extend(ready.into_iter().filter_map(|module| left.remove_entry(module)));
    }
    sorted
}

/// The child of `parent` that a module is or is in.
fn child<'a>(parent: &[String], module: &'a ModulePath) -> Option<&'a str> {
    module.strip_prefix(parent)?.first().map(String::as_str)
}

fn place(name: &str, parent: &[String]) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{name}: {}", parent.join("::")) }
}

/// The rows of a comment, each with the indented lines that continue it.
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

/// True for a name that a module can have.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::{complaints, listed};
    use crate::imports::modules::Modules;
    use crate::imports::resolve::imports;

    const ROOT: &str = "//! A crate.\n\n// Layering: a module may import what follows its colon.\n//\n\
        // a: nothing\n// b, c: a\n\nmod a; mod b; mod c; use b::B; // d: no row\n";
    const A: (&str, &str) = ("a", "pub struct A;");
    const B: (&str, &str) = ("b", "use crate::a::A; pub struct B;");
    const C: (&str, &str) = ("c", "use crate::a::A;");

    fn of(texts: &[(&str, &str)]) -> Vec<String> {
        let modules = Modules::of(texts);
        complaints("x", &modules, &imports(&modules))
    }

    #[test]
    fn an_import_that_no_row_allows_is_found() {
        assert_eq!(of(&[("", ROOT), A, B, C]), [""; 0]);
        let said = of(&[("", ROOT), A, B, ("c", "use crate::b::B;")]);
        assert_eq!(said, ["x: c imports b, and `c` may not import `b`"]);
        let said = of(&[("", ROOT), A, B, C, ("c::inner", "fn f() { crate::b::B; }")]);
        assert_eq!(said, ["x: c::inner imports b, and `c` may not import `b`"]);
    }

    #[test]
    fn a_module_without_a_row_is_found_and_so_is_a_row_without_a_module() {
        let said = of(&[("", ROOT), A, B, ("d", "")]);
        assert_eq!(
            said,
            ["x: the layering lacks `d`", "x: the layering has `c`, which is no module"]
        );
    }

    #[test]
    fn a_root_without_a_layering_is_found() {
        let said = of(&[("", "mod a;"), A]);
        assert_eq!(said, ["x: the root module has no comment `// Layering:`"]);
    }

    #[test]
    fn a_row_may_import_only_what_stands_above_it() {
        let root = "// Layering:\n//\n// a: b\n// b: a\n// c: nothing\n";
        let said = of(&[("", root), A, B, ("c", "")]);
        assert_eq!(said, ["x: `b` does not stand above `a` in the layering"]);
        let itself = "// Layering:\n//\n// a: a\n";
        let said = of(&[("", itself), A]);
        assert_eq!(said, ["x: `a` does not stand above `a` in the layering"]);
    }

    #[test]
    fn rows_that_cannot_be_read_are_found_and_modules_that_stand_in_two() {
        let root = "// Layering:\n//\n// a: nothing\n// a: nothing\n// b and a\n// b:\n// b: two words\n\
            // b: a\n// c:\n//     a\n";
        let said = of(&[("", root), A, B, C]);
        assert_eq!(
            said,
            [
                "x: the layering has an unreadable row: b and a",
                "x: the layering has an unreadable row: b:",
                "x: the layering has an unreadable row: b: two words",
                "x: the layering names `a` twice",
            ]
        );
    }

    #[test]
    fn a_module_below_the_root_may_have_a_layering() {
        let root = "// Layering:\n//\n// a: nothing\n";
        let a = "// Layering:\n//\n// one: nothing\n// two: nothing\n\nmod one; mod two;";
        let (one, two) = (("a::one", "pub struct One;"), ("a::two", "pub struct Two;"));
        assert_eq!(of(&[("", root), ("a", a), one, two]), [""; 0]);
        let said = of(&[("", root), ("a", a), one, ("a::two", "use super::one::One;")]);
        assert_eq!(said, ["x: a::two imports a::one, and `two` may not import `one`"]);
        let said = of(&[("", root), ("a", a), one, two, ("a::three", "")]);
        assert_eq!(said, ["x: a: the layering lacks `three`"]);
    }

    #[test]
    fn what_is_listed_is_a_layering_that_allows_it() {
        let modules = Modules::of(&[("", ""), A, B, ("c", "use crate::{a::A, b::B};")]);
        let rows = listed("x", &modules, &imports(&modules));
        assert_eq!(rows, "\nx\n\n// a: nothing\n// b: a\n// c: a, b\n");
    }
}
