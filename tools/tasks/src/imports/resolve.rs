//! Resolves names to modules: which file defines what another file mentions.
//!
//! A re-exported name is resolved to the module that defines it. `crate::Error` is therefore an
//! import from the file that defines the error, and not from the crate's root. A module that
//! re-exports names of its own children imports nothing.

use std::collections::BTreeSet;

use super::modules::Modules;
use super::names::Named;
use super::path::ModulePath;

/// Pairs of modules: the one that imports, and the one that is imported.
pub(super) type Imports = BTreeSet<(ModulePath, ModulePath)>;

/// The maximum number of re-exports that a name may pass through. More are treated as a cycle of
/// `use` declarations.
const DEEPEST: usize = 16;

/// Returns all imports between different modules in a crate.
pub(super) fn imports(modules: &Modules) -> Imports {
    let mut imports = Imports::new();
    for (module, names) in modules.iter() {
        let globs = names.globs.iter().filter(|glob| !glob.is_reexport);
        let globs = globs.filter_map(|glob| module_of(modules, module, glob));
        let mentioned = names.mentioned.iter().filter_map(|named| target(modules, module, named));
        for target in mentioned.chain(globs) {
            if target != *module {
                imports.insert((module.clone(), target));
            }
        }
    }
    imports
}

/// Returns the module that a path refers to, if the path ends in a module and not in an item.
fn module_of(modules: &Modules, from: &ModulePath, named: &Named) -> Option<ModulePath> {
    let path = absolute(modules, from, named)?;
    modules.get(&path).map(|_| path)
}

/// Returns the module that defines what a path refers to.
fn target(modules: &Modules, from: &ModulePath, named: &Named) -> Option<ModulePath> {
    let path = absolute(modules, from, named)?;
    let found = find(modules, &path, 0)?;
    let own_child = found.len() > from.len() && found.starts_with(from);
    if named.is_reexport && own_child { None } else { Some(found) }
}

/// Returns the path relative to the crate's root, or `None` if the path belongs to another crate.
fn absolute(modules: &Modules, from: &ModulePath, named: &Named) -> Option<Vec<String>> {
    let mut here = [&from[..], &named.scope[..]].concat();
    let mut rest = &named.path[..];
    let first = rest.first()?.as_str();
    match first {
        "crate" => here.clear(),
        "self" | "super" => {}
        _ => {
            let is_child = modules.get(&[&here[..], &rest[..1]].concat()).is_some();
            let is_own = modules.get(&here).is_some_and(|names| names.defined.contains(first));
            if is_child || is_own {
                return Some([&here[..], rest].concat());
            }
            return through_binding(modules, from, named);
        }
    }
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "crate" | "self" => {}
            "super" => {
                here.pop()?;
            }
            _ => break,
        }
        rest = others;
    }
    Some([&here[..], rest].concat())
}

/// Resolves a path whose first name is bound to a module by a `use` declaration.
fn through_binding(modules: &Modules, from: &ModulePath, named: &Named) -> Option<Vec<String>> {
    let (first, rest) = named.path.split_first()?;
    let bound = modules.get(from)?.bound.get(first)?;
    if bound.path.first() == Some(first) || rest.is_empty() {
        return None;
    }
    let path = absolute(modules, from, bound)?;
    let is_module = modules.get(&path).is_some();
    is_module.then(|| [&path[..], rest].concat())
}

/// Finds the module that defines a name, by the name's path from the root. Returns `None` if the
/// path ends in a module, because naming a module is not an import.
fn find(modules: &Modules, path: &[String], depth: usize) -> Option<ModulePath> {
    let deepest = (0..=path.len()).rev().find(|&length| modules.get(&path[..length]).is_some())?;
    let (module, rest) = path.split_at(deepest);
    let name = rest.first()?;
    let names = modules.get(module)?;
    if names.defined.contains(name) || depth == DEEPEST {
        return Some(module.to_vec());
    }
    let module_path = module.to_vec();
    if let Some(bound) = names.bound.get(name) {
        // Names from other crates are not defined in this crate.
        let handed_on = absolute(modules, &module_path, bound)?;
        if handed_on == path {
            return Some(module_path);
        }
        return find(modules, &[&handed_on[..], &rest[1..]].concat(), depth + 1);
    }
    for glob in &names.globs {
        let Some(from) = module_of(modules, &module_path, glob) else { continue };
        if modules.get(&from).is_some_and(|names| names.defined.contains(name)) {
            return Some(from);
        }
    }
    Some(module_path)
}

#[cfg(test)]
mod tests {
    use super::{Modules, imports};
    use crate::imports::path::shown;

    /// Returns the imports of modules that are given as texts, each as `from → to`.
    fn of(texts: &[(&str, &str)]) -> Vec<String> {
        let imports = imports(&Modules::of(texts));
        imports.iter().map(|(from, to)| format!("{} → {}", shown(from), shown(to))).collect()
    }

    #[test]
    fn a_name_that_is_handed_on_is_an_import_of_where_it_stands() {
        let lib = "mod a; mod b; pub use a::One; mod c;";
        let texts = [
            ("", lib),
            ("a", "pub struct One;"),
            ("b", "use crate::One; fn f(_: One) {}"),
            ("c", "use super::b; fn g() { b::f(); crate::a::One; std::mem::swap(x, y); }"),
        ];
        assert_eq!(of(&texts), ["b → a", "c → a", "c → b"]);
    }

    #[test]
    fn what_is_named_in_macros_and_inline_modules_counts() {
        let texts = [
            ("", "mod a; mod b; mod c;"),
            ("a", "pub fn f() {} macro_rules! m { () => { $crate::b::g() } }"),
            ("b", "mod inner { use super::super::a::f; fn h() { vec![crate::c::X, 1]; } }"),
            ("c", "pub const X: u8 = 1;"),
        ];
        assert_eq!(of(&texts), ["b → a", "b → c"]);
    }

    #[test]
    fn a_name_of_an_inline_module_that_is_handed_on_counts() {
        let texts = [
            ("", "mod a; mod b;"),
            ("a", "mod inner { pub fn f() {} } pub use inner::f;"),
            ("b", "use crate::a; fn g() { a::f(); }"),
        ];
        assert_eq!(of(&texts), ["b → a"]);
    }

    #[test]
    fn tests_do_not_count_and_children_that_are_handed_on_neither() {
        let texts = [
            ("", "mod a;"),
            ("a", "mod child; pub use child::Y; #[cfg(test)] mod tests { use crate::b::Z; }"),
            ("a::child", "pub struct Y; #[cfg(test)] use super::T;"),
            ("b", "pub struct Z; use crate::a::Y;"),
        ];
        assert_eq!(of(&texts), ["b → a::child"]);
    }

    #[test]
    fn a_child_that_needs_its_parents_items_is_an_import_like_any_other() {
        let texts = [
            ("", "mod a;"),
            ("a", "mod child; struct T; use child::Y; fn f(_: Y) {}"),
            ("a::child", "use super::T; pub struct Y(T);"),
        ];
        assert_eq!(of(&texts), ["a → a::child", "a::child → a"]);
    }
}
