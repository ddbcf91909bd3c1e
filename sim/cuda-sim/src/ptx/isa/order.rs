//! The order of modifiers. `order.txt` lists instructions with other orders and the result of
//! NVIDIA's assembler for each. If the assembler is installed, more orders are checked with it.

use super::super::decode::Trial;
use super::tests::{decoded, some};
use super::{Form, State, lines, register_of};

/// Returns the lines of the file.
pub(super) fn forms() -> Vec<Form> {
    let lines = include_str!("order.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(form).collect()
}

fn form(line: &str) -> Form {
    let (mark, rest) = line.split_once(' ').unwrap_or_default();
    let state = match mark {
        "+" => State::Taken,
        "-" => State::Refused,
        _ => panic!("no line of orders: {line:?}"),
    };
    let (name, operands) = rest.split_once(' ').unwrap_or((rest, ""));
    Form { state, name: name.to_owned(), operands: operands.to_owned() }
}

/// Returns the forms of all lines with two modifiers swapped, which are then passed to the decoder.
pub(super) fn exchanges() -> Vec<Form> {
    let lines = lines();
    let taken = lines.iter().filter(|line| line.state == State::Taken);
    let all: Vec<Form> = taken.flat_map(|line| others(&some(&line.forms()))).collect();
    let mut trial = Trial::new();
    let of_decoder = |form: Form| match decoded(&mut trial, &form) {
        Ok(()) => form,
        Err(_) => Form { state: State::Refused, ..form },
    };
    all.into_iter().map(of_decoder).collect()
}

/// Returns these forms with each pair of modifiers swapped, if the swap keeps the order of types.
fn others(forms: &[&Form]) -> Vec<Form> {
    let mut others = Vec::new();
    for form in forms {
        let parts: Vec<&str> = form.name.split('.').collect();
        for first in 1..parts.len() {
            for second in first + 1..parts.len() {
                let mut other = parts.clone();
                other.swap(first, second);
                if types(&other) == types(&parts) && other != parts {
                    let operands = form.operands.clone();
                    others.push(Form { state: form.state, name: other.join("."), operands });
                }
            }
        }
    }
    others
}

fn types<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    parts.iter().copied().filter(|part| register_of(part).is_some()).collect()
}

#[test]
fn modifiers_stand_where_the_assembler_takes_them() {
    let mut trial = Trial::new();
    let mut wrong = Vec::new();
    for form in forms() {
        let Form { name, operands, .. } = &form;
        match (form.state, decoded(&mut trial, &form)) {
            (State::Taken, Ok(())) => {}
            (State::Taken, Err(error)) => wrong.push(format!("`{name} {operands}`: {error}")),
            (_, Ok(())) => wrong.push(format!("`{name} {operands}` is taken")),
            (_, Err(error)) if error.what.contains("stands behind") => {}
            (_, Err(error)) => wrong.push(format!("refused for something else: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} instructions:\n{}", wrong.len(), wrong.join("\n"));
}
