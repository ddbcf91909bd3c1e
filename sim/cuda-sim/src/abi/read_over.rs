//! For tests: lists the input from callers that the simulator ignores. Each such parameter of a
//! call or field of a structure has a row in `docs/simulator.md`, which explains why ignoring it
//! changes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A call or a structure of CUDA, and the name of a parameter or field.
type Item = (String, String);

/// Returns the text of every file in this directory except this one.
fn sources() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/abi");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.file_name().is_some_and(|name| name != "read_over.rs"));
    files.map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the name with which a text starts.
fn name(text: &str) -> &str {
    text.split(|letter| !is_of_name(letter)).next().unwrap_or_default()
}

/// Returns the parameters of calls that are marked as unused by their names.
fn unused_parameters(source: &str) -> BTreeSet<Item> {
    let calls = source.split("\n    fn cu").skip(1);
    let parameters = |call: &str| {
        let function = format!("cu{}", name(call));
        let signature = call.split('|').next().unwrap_or_default().to_owned();
        let unused =
            signature.split(['(', ',']).map(str::trim).filter(|part| part.starts_with('_'));
        let unused: Vec<Item> = unused
            .map(|part| (function.clone(), name(part).trim_start_matches('_').to_owned()))
            .collect();
        unused
    };
    calls.flat_map(parameters).collect()
}

/// Returns `true` if any file reads a field, with a dot or in a `let` pattern.
fn is_read(field: &str, structure: &str, sources: &[String]) -> bool {
    let of_structure = sources.iter().filter(|source| source.contains(structure));
    let is_word = |text: &str| name(text) == field;
    of_structure.into_iter().any(|source| {
        let by_dot = source.split('.').skip(1).any(is_word);
        let pattern = format!("let {structure} {{");
        let patterns = source.split(pattern.as_str()).skip(1);
        let fields = patterns.filter_map(|rest| rest.split('}').next());
        by_dot || fields.flat_map(|fields| fields.split(',')).any(|one| is_word(one.trim()))
    })
}

/// Returns the structure fields that no file reads. A structure is listed under its CUDA name,
/// which is the first name in its documentation.
fn unused_fields(sources: &[String]) -> BTreeSet<Item> {
    let mut unused = BTreeSet::new();
    for source in sources {
        for (before, after) in source.match_indices("#[repr(C)]").map(|(at, _)| source.split_at(at))
        {
            let Some((head, rest)) = after.split_once('{') else { continue };
            let Some(declared) = head.split("struct ").nth(1).map(name) else { continue };
            let documented = before.rsplit("///").find_map(|line| line.split('`').nth(1));
            let of_cuda =
                documented.filter(|_| !source.contains("#![allow(non_snake_case, non_camel"));
            let fields = rest.split("\n}").next().unwrap_or_default();
            for field in fields.lines().filter_map(|line| line.trim().split_once(": ")) {
                let field = field.0.rsplit(' ').next().unwrap_or_default();
                if !is_read(field, declared, sources) {
                    unused.insert((of_cuda.unwrap_or(declared).to_owned(), field.to_owned()));
                }
            }
        }
    }
    unused
}

/// Returns the rows of the page's table.
fn documented() -> BTreeSet<Item> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulator.md");
    let page = fs::read_to_string(page).unwrap();
    let section = page.split("\n## Ignored arguments\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let mut items = BTreeSet::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        for owner in quoted(cells[1]) {
            items.extend(quoted(cells[2]).into_iter().map(|part| (owner.clone(), part)));
        }
    }
    items
}

#[test]
fn what_nothing_reads_is_in_the_table() {
    let sources = sources();
    let mut unused: BTreeSet<Item> =
        sources.iter().flat_map(|source| unused_parameters(source)).collect();
    unused.extend(unused_fields(&sources));
    let documented = documented();
    let missing: Vec<&Item> = unused.difference(&documented).collect();
    assert!(missing.is_empty(), "docs/simulator.md does not have {missing:?}");
    // Input that is read but changes nothing also has a row, by its number or by its name in CUDA.
    let others: Vec<&Item> = documented.difference(&unused).collect();
    let text = sources.concat();
    for (owner, part) in others {
        assert!(text.contains(owner.as_str()), "there is no {owner}, which is to have {part}");
    }
}

#[test]
fn unused_parts_are_found() {
    let source = "\n    fn cuOne(place: Out<u32>, _wish: u64) |session| { Ok(()) }\n";
    assert_eq!(unused_parameters(source), [("cuOne".to_owned(), "wish".to_owned())].into());
    let source = "/// `CUpair`.\n#[repr(C)]\nstruct Pair {\n    left: u32,\n    right: u32,\n}\nfn f(pair: Pair) { pair.left }\n";
    let found = unused_fields(&[source.to_owned()]);
    assert_eq!(found, [("CUpair".to_owned(), "right".to_owned())].into());
}
