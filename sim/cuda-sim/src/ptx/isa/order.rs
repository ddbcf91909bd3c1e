//! Where modifiers may stand: `order.txt` has instructions with other orders of theirs, and what NVIDIA's assembler says
//! of each.

use super::super::decode::Trial;
use super::tests::decoded;
use super::{Form, State};

/// The lines of the file.
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
