//! Checks that each name has one meaning: no two public types of the libraries share a name, and
//! the glossary defines each word once.

use std::collections::BTreeMap;
use std::path::Path;

use crate::TaskError;
use crate::checks::Checks;
use crate::imports;

/// The page that defines the project's words.
const GLOSSARY: &str = "docs/glossary.md";

/// Names that several public types may share, each with the reason.
const SHARED: &[(&str, &str)] = &[
    ("Cpu", "without the `cpu` feature, the facade has a marker for the backend"),
    ("Cuda", "without the `cuda` feature, the facade has a marker for the backend"),
    ("DeviceMemory", "without the `cuda` feature, pool-graph has an empty type"),
    ("Wgpu", "without the `wgpu` feature, the facade has a marker for the backend"),
];

/// A public type: its name, and the path of the module that defines it.
type PublicType = (String, String);

/// Checks the public types of crates in the directory `crates`, and the glossary.
///
/// # Errors
///
/// Fails if a source or the glossary cannot be read, or if a source cannot be parsed.
pub(super) fn check(root: &Path, crates: &[&str], checks: &mut Checks) -> Result<(), TaskError> {
    let types = public_types(root, crates)?;
    let name = format!("{} public types have distinct names", types.len());
    checks.that(&name, none(&shared_names(&types, SHARED)));
    let words = defined_words(&std::fs::read_to_string(root.join(GLOSSARY))?);
    let name = format!("{GLOSSARY} defines {} words once each", words.len());
    checks.that(&name, none(&repeated(&words)));
    Ok(())
}

/// Returns the public types and traits of crates in the directory `crates`.
fn public_types(root: &Path, crates: &[&str]) -> Result<Vec<PublicType>, TaskError> {
    let mut types = Vec::new();
    for name in crates {
        let file = root.join(format!("crates/{name}/src/lib.rs"));
        for (module, public) in imports::public_types(&file)? {
            types.push((public, format!("{name}::{module}")));
        }
    }
    Ok(types)
}

/// Returns success if there are no complaints.
fn none(complaints: &[String]) -> Result<(), String> {
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n    ")) }
}

/// Returns the names that several types share, except for the allowed ones. An allowed name that
/// only one type has is also returned.
fn shared_names(types: &[PublicType], allowed: &[(&str, &str)]) -> Vec<String> {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, module) in types {
        by_name.entry(name).or_default().push(module);
    }
    let is_allowed = |name: &str| allowed.iter().any(|(shared, _)| *shared == name);
    let shared = by_name.iter().filter(|(name, all)| all.len() > 1 && !is_allowed(name));
    let shared = shared.map(|(name, all)| format!("`{name}` is defined in {}", all.join(" and ")));
    let is_needed = |name: &str| by_name.get(name).is_some_and(|all| all.len() > 1);
    let unneeded = allowed.iter().filter(|(name, _)| !is_needed(name));
    let unneeded = unneeded.map(|(name, _)| format!("`{name}` is in `SHARED`, but is not shared"));
    shared.chain(unneeded).collect()
}

/// Returns the bold words in the rows of a page's tables, in lower case.
fn defined_words(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with("| **"));
    rows.flat_map(|row| row.split("**").skip(1).step_by(2)).map(str::to_lowercase).collect()
}

/// Returns the words that occur more than once.
fn repeated(words: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let repeated = counts.iter().filter(|(_, count)| **count > 1);
    repeated.map(|(word, count)| format!("{word:?} is defined {count} times")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{defined_words, public_types, repeated, shared_names};

    fn types(types: &[(&str, &str)]) -> Vec<(String, String)> {
        types.iter().map(|(name, module)| ((*name).to_owned(), (*module).to_owned())).collect()
    }

    #[test]
    fn a_name_of_two_public_types_is_refused() {
        let shared = types(&[("Range", "a::b"), ("View", "a::b"), ("Range", "c::d")]);
        assert_eq!(shared_names(&shared, &[]), ["`Range` is defined in a::b and c::d"]);
        assert_eq!(shared_names(&shared, &[("Range", "a reason")]), [""; 0]);
    }

    #[test]
    fn an_allowance_that_is_not_needed_is_refused() {
        let allowed = [("Range", "a reason"), ("View", "a reason")];
        let found = shared_names(&types(&[("Range", "a::b")]), &allowed);
        let expected =
            ["Range", "View"].map(|name| format!("`{name}` is in `SHARED`, but is not shared"));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_word_with_two_rows_is_refused() {
        let page = "**Not a row**\n\n| word | meaning |\n|---|---|\n| **slot**, **way** | a block |\n\
            | **pool** | slots; it is **idle** if no scope is open |\n| **Slot** | a position |\n";
        let words = defined_words(page);
        assert_eq!(words, ["slot", "way", "pool", "idle", "slot"]);
        assert_eq!(repeated(&words), ["\"slot\" is defined 2 times"]);
    }

    #[test]
    fn public_types_of_two_crates_are_compared() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("crates/one/src/lib.rs", "mod inner;\npub use inner::A;\npub struct B;\n");
        write("crates/one/src/inner.rs", "pub struct A;\npub(crate) struct C;\n");
        let shared = |text: &str| {
            write("crates/two/src/lib.rs", text);
            shared_names(&public_types(root.path(), &["one", "two"]).unwrap(), &[])
        };
        let distinct = "pub use one::A;\npub(crate) enum A {}\npub struct C;\nmod sealed { pub trait A {} }\n\
            #[cfg(test)]\nmod tests { pub struct A; }\n";
        assert_eq!(shared(distinct), [""; 0]);
        for duplicate in
            ["struct A;", "enum A {}", "trait A {}", "type A = u8;", "union A { a: u8 }"]
        {
            let found = shared(&format!("pub {duplicate}"));
            assert_eq!(found, ["`A` is defined in one::inner and two::lib"], "{duplicate}");
        }
        assert_eq!(
            shared("pub mod b { pub struct B; }"),
            ["`B` is defined in one::lib and two::lib"]
        );
    }
}
