//! Texts that no compiler writes: each is read or refused with an error, without a panic or
//! unbounded memory.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::Reading;
use super::{initial_bytes, parse, programs};

/// Kernels of this repository, which the test mutates.
const KERNELS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/pool-kernels/cuda/reduction.ptx");
/// Replacements for a token.
const OTHERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "0xFFFFFFFFFFFFFFFF",
    "99999999999999999999999",
    "0f7FC00000",
    "0d",
    "1.5",
    "{",
    "}",
    "[",
    "]",
    ";",
    "<",
    "%tid.x",
    "%r1",
    "pred",
    "f64",
    "b8",
    "v4",
    "\"",
];
const SEED: u64 = 24;
const CHANGED: usize = 400;

/// Reads a module, decodes its kernels and makes the bytes of its small variables.
fn read(text: &str) -> Reading<usize> {
    let module = parse(text)?;
    let addresses: HashMap<String, u64> =
        module.variables.iter().map(|variable| (variable.name.clone(), 1 << 32)).collect();
    let kernels = programs(&module, &addresses, text)?.len();
    for variable in module.variables.iter().filter(|variable| variable.bytes < 1 << 20) {
        initial_bytes(variable, &addresses)?;
    }
    Ok(kernels)
}

fn refused(items: &str) -> String {
    let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n{items}");
    read(&text).unwrap_err().to_string()
}

/// Returns a number below `end`.
fn below(state: &mut u64, end: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 16).unwrap_or(0) % end
}

/// Mutates the kernels: one to three tokens are replaced, left out or doubled.
fn changed(tokens: &[&str], state: &mut u64) -> String {
    let mut tokens = tokens.to_vec();
    for _ in 0..=below(state, 3) {
        let place = below(state, tokens.len());
        match below(state, 9) {
            0 => drop(tokens.remove(place)),
            1 => tokens.insert(place, tokens[place]),
            2 => tokens.truncate(place.max(1)),
            3..=5 => tokens[place] = tokens[below(state, tokens.len())],
            _ => tokens[place] = OTHERS[below(state, OTHERS.len())],
        }
    }
    tokens.concat()
}

/// Splits into words, numbers, signs and the blanks between them.
fn pieces(text: &str) -> Vec<&str> {
    let is_inside = |one: char| one.is_ascii_alphanumeric() || "_$%".contains(one);
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_inside(first) {
            true => rest.find(|one| !is_inside(one)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

#[test]
fn changed_kernels_are_read_or_refused() {
    let text = std::fs::read_to_string(KERNELS).unwrap();
    assert!(read(&text).unwrap() > 0, "the kernels are read as they are");
    let tokens = pieces(&text);
    let (mut state, mut refusals) = (SEED, 0);
    for _ in 0..CHANGED {
        let text = changed(&tokens, &mut state);
        let answer = catch_unwind(AssertUnwindSafe(|| read(&text)));
        match answer {
            Ok(answer) => refusals += usize::from(answer.is_err()),
            Err(_) => panic!("a panic over:\n{text}"),
        }
    }
    assert!(refusals > CHANGED / 4, "only {refusals} of {CHANGED} were refused");
}

#[test]
fn alignments_have_an_end() {
    let body = ".shared .b8 a; .shared .align 9223372036854775808 .b8 b; mov.u32 %r, a;";
    let said = refused(&format!(".entry k() {{ .reg .b32 %r; {body} mov.u32 %r, b; ret; }}"));
    assert!(said.contains("alignment"), "{said}");
}

#[test]
fn registers_have_an_end() {
    let many = ".reg .b32 %r<1000000>;\n".repeat(1000);
    let said = refused(&format!(".entry k() {{ {many} ret; }}"));
    assert!(said.contains("a module of more than 4194304 registers"), "{said}");
}

#[test]
fn calls_have_an_end() {
    let function = |index: usize| format!(".func f{index}() {{ call f{}; ret; }}\n", index + 1);
    let chain: String = (0..20_000).map(function).collect();
    let text = format!("{chain}.func f20000() {{ ret; }}\n.entry k() {{ call f0; ret; }}");
    let said = std::thread::spawn(move || refused(&text)).join().unwrap();
    assert!(said.contains("more than 256 functions that call each other"), "{said}");
}

#[test]
fn a_name_is_defined_once() {
    for items in [
        ".global .b32 a; .global .b32 a;",
        ".func f() { ret; } .func f() { ret; }",
        ".weak .func f() { ret; } .weak .func f() { ret; }",
        ".visible .entry k() { ret; } .visible .entry k() { ret; }",
        ".global .b32 a; .func a() { ret; }",
    ] {
        let said = refused(items);
        assert!(said.contains("defined twice"), "{items}: {said}");
    }
    let text = ".version 8.0\n.target sm_90\n.func f(); .func f(); .func f() { ret; }";
    assert_eq!(read(text).unwrap(), 0, "declarations are no definitions");
}
