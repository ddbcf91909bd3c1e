//! Compares imports with the layerings, and prints imports in the form of layerings.

use std::collections::{BTreeMap, BTreeSet};

use super::layering::{NOTHING, OPENING};
use super::modules::Modules;
use super::path::{ModulePath, shown};
use super::resolve::Imports;

/// Returns the imports of a crate that its layerings do not allow.
pub(super) fn complaints(name: &str, modules: &Modules, imports: &Imports) -> Vec<String> {
    let mut complaints = Vec::new();
    if !modules.layerings().any(|(parent, _)| parent.is_empty()) {
        complaints.push(format!("{name}: the root module has no `{OPENING}` comment"));
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
                    "{name}: {from} imports {to}, but `{importer}` must not import `{imported}`"
                ));
            }
        }
    }
    complaints
}

/// Returns the imports between modules in the form of layerings that allow exactly these imports.
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

/// Orders the modules so that each follows the modules that it imports. Modules in a cycle come
/// last.
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

/// Returns the child of `parent` that is or contains the module.
fn child<'a>(parent: &[String], module: &'a ModulePath) -> Option<&'a str> {
    module.strip_prefix(parent)?.first().map(String::as_str)
}

fn place(name: &str, parent: &[String]) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{name}: {}", parent.join("::")) }
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
        assert_eq!(said, ["x: c imports b, but `c` must not import `b`"]);
        let said = of(&[("", ROOT), A, B, C, ("c::inner", "fn f() { crate::b::B; }")]);
        assert_eq!(said, ["x: c::inner imports b, but `c` must not import `b`"]);
    }

    #[test]
    fn a_module_without_a_row_is_found_and_so_is_a_row_without_a_module() {
        let said = of(&[("", ROOT), A, B, ("d", "")]);
        assert_eq!(
            said,
            ["x: the layering lacks `d`", "x: the layering lists `c`, which is not a module"]
        );
    }

    #[test]
    fn a_root_without_a_layering_is_found() {
        let said = of(&[("", "mod a;"), A]);
        assert_eq!(said, ["x: the root module has no `// Layering:` comment"]);
    }

    #[test]
    fn a_row_may_import_only_what_stands_above_it() {
        let root = "// Layering:\n//\n// a: b\n// b: a\n// c: nothing\n";
        let said = of(&[("", root), A, B, ("c", "")]);
        assert_eq!(said, ["x: `b` is not above `a` in the layering"]);
        let itself = "// Layering:\n//\n// a: a\n";
        let said = of(&[("", itself), A]);
        assert_eq!(said, ["x: `a` is not above `a` in the layering"]);
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
                "x: the layering lists `a` twice",
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
        assert_eq!(said, ["x: a::two imports a::one, but `two` must not import `one`"]);
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
