//! What the rooms of a crate may import: those modules that stand right under its root.

use std::collections::{BTreeMap, BTreeSet};

use super::circles::shown;
use super::modules::{ModulePath, Modules};
use super::resolve::Imports;

/// What there is against a crate's imports by its table, which stands under the heading "The rooms of `name`".
pub(super) fn complaints(
    page: &str,
    name: &str,
    modules: &Modules,
    imports: &Imports,
) -> Vec<String> {
    let table = table(page, name);
    let rooms: BTreeSet<&str> = modules.iter().filter_map(|(module, _)| room(module)).collect();
    if table.is_empty() {
        return vec![format!("{name}: ARCHITECTURE has no table \"The rooms of `{name}`\"")];
    }
    let mut complaints = Vec::new();
    for room in rooms.iter().filter(|room| !table.contains_key(**room)) {
        complaints.push(format!("{name}: the table of its rooms lacks `{room}`"));
    }
    let listed = table.iter().flat_map(|(room, may)| may.iter().chain([room]));
    for room in listed.collect::<BTreeSet<_>>() {
        if !rooms.contains(room.as_str()) {
            complaints.push(format!("{name}: the table of its rooms has `{room}`, which is none"));
        }
    }
    for (from, to) in imports {
        let (Some(importer), Some(imported)) = (room(from), room(to)) else { continue };
        let may = table.get(importer);
        if importer != imported && may.is_some_and(|may| !may.contains(imported)) {
            let (from, to) = (shown(from), shown(to));
            complaints.push(format!(
                "{name}: {from} imports {to}, and `{importer}` may not import `{imported}`"
            ));
        }
    }
    complaints
}

/// What each room imports of the others, as rows for a table.
pub(super) fn listed(modules: &Modules, imports: &Imports) -> String {
    let mut rooms: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, _) in modules.iter() {
        rooms.extend(room(module).map(|room| (room, BTreeSet::new())));
    }
    for (from, to) in imports {
        let (Some(from), Some(to)) = (room(from), room(to)) else { continue };
        if let Some(imported) = rooms.get_mut(from).filter(|_| from != to) {
            imported.insert(to);
        }
    }
    let row = |(room, imported): (&str, BTreeSet<&str>)| {
        let imported: Vec<String> = imported.iter().map(|room| format!("`{room}`")).collect();
        format!("| `{room}` | | {} |\n", imported.join(", "))
    };
    rooms.into_iter().map(row).collect()
}

/// The module under the root that a module is or is in; the root is in none.
fn room(module: &ModulePath) -> Option<&str> {
    module.first().map(String::as_str)
}

/// What each room may import, from rows like ``| `view` | idea | `stream`, `driver` |``; several rooms may share one.
fn table(page: &str, name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let heading = format!("The rooms of `{name}`");
    let lines = page.lines().skip_while(|line| line.trim_start_matches('#').trim() != heading);
    let rows = lines.skip(1).take_while(|line| !line.starts_with('#'));
    let mut table = BTreeMap::new();
    for row in rows.filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        let [_, rooms, .., may, _] = &cells[..] else { continue };
        for room in quoted(rooms) {
            table.insert(room, quoted(may).collect());
        }
    }
    table
}

/// The words between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = String> + '_ {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::complaints;
    use crate::imports::modules::Modules;
    use crate::imports::resolve::imports;

    const PAGE: &str = "## The rooms of `x`\n\n| room | idea | may import |\n|---|---|---|\n\
        | `a` | one | – |\n| `b`, `c` | two | `a` |\n\n## Other\n\n| `d` | no | – |\n";

    fn of(texts: &[(&str, &str)]) -> Vec<String> {
        let modules = Modules::of(texts);
        complaints(PAGE, "x", &modules, &imports(&modules))
    }

    #[test]
    fn what_the_table_allows_is_allowed_and_nothing_else() {
        let (lib, a) = (("", "mod a; mod b; mod c; use b::B;"), ("a", "pub struct A;"));
        let (b, c) = (("b", "use crate::a::A; pub struct B;"), ("c", "use crate::a::A;"));
        assert!(of(&[lib, a, b, c]).is_empty());
        let planted = ("c", "use crate::b::B;");
        let said = of(&[lib, a, b, planted]);
        assert_eq!(said, ["x: c imports b, and `c` may not import `b`"]);
    }

    #[test]
    fn rooms_and_rows_are_the_same() {
        let missing = of(&[("", ""), ("a", ""), ("b", ""), ("d", "")]);
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing[0].contains("lacks `d`") && missing[1].contains("`c`, which is none"));
        let none = complaints(PAGE, "y", &Modules::of(&[]), &super::Imports::new());
        assert!(none[0].contains("no table"), "{none:?}");
    }
}
