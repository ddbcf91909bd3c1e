//! Compares the list of instructions with the decoder.

use std::collections::HashSet;

use super::super::decode::Trial;
use super::super::syntax::{Instruction, Statement};
use super::super::{PtxError, parse};
use super::{Form, OPCODES, State, lines, order, page, register_of};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx.md");

/// Plausible modifiers that no line contains.
const OTHERS: [&str; 12] = [
    "foo",
    "rna",
    "rs",
    "relu",
    "v8",
    "f8",
    "s4",
    "b128",
    "warp",
    "abs",
    "shared::cluster",
    "mmio",
];

/// The largest number of mutated forms for one line.
const OF_A_LINE: usize = 12;

fn forms() -> Vec<Form> {
    lines().iter().flat_map(super::Line::forms).collect()
}

/// Returns a sample of forms that are spread over the list.
pub(super) fn some<T>(all: &[T]) -> Vec<&T> {
    all.iter().step_by(1 + all.len() / OF_A_LINE).collect()
}

/// Parses the instruction of a form.
fn parsed(form: &Form) -> Result<Instruction, PtxError> {
    let text =
        format!(".version 8.0\n.target sm_90\n.entry k() {{\n{} {};\n}}", form.name, form.operands);
    let module = parse(&text)?;
    let body = module.functions.into_iter().next().and_then(|function| function.body);
    let instruction = body.into_iter().flatten().find_map(|statement| match statement {
        Statement::Instruction(instruction) => Some(instruction),
        _ => None,
    });
    Ok(instruction.expect("the text has an instruction"))
}

pub(super) fn decoded(trial: &mut Trial, form: &Form) -> Result<(), PtxError> {
    trial.decode(&parsed(form)?)
}

#[test]
fn every_opcode_is_on_a_line_and_no_other() {
    let listed: HashSet<String> =
        forms().iter().filter_map(|form| form.name.split('.').next().map(str::to_owned)).collect();
    let known: HashSet<String> = OPCODES.split_whitespace().map(str::to_owned).collect();
    let missing: Vec<_> = known.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing {missing:?}, unknown {unknown:?}");
}

#[test]
fn the_decoder_takes_and_refuses_what_the_lines_say() {
    let mut trial = Trial::new();
    let mut wrong = Vec::new();
    for form in forms() {
        let Form { name, operands, .. } = &form;
        match (form.state, decoded(&mut trial, &form)) {
            (State::Taken, Ok(())) => {}
            (State::Taken, Err(error)) => wrong.push(format!("`{name} {operands}`: {error}")),
            (_, Ok(())) => wrong.push(format!("`{name} {operands}` is taken")),
            (_, Err(error)) if error.instruction.as_deref() == Some(name.as_str()) => {}
            (_, Err(error)) => wrong.push(format!("`{name}` is refused without its name: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} forms:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns a key for an instruction. The key ignores the order of modifiers, except the order of
/// types.
fn key(name: &str, modifiers: &[String]) -> String {
    let (types, mut others): (Vec<&str>, Vec<&str>) =
        modifiers.iter().map(String::as_str).partition(|modifier| register_of(modifier).is_some());
    others.sort_unstable();
    [vec![name], others, types].concat().join(".")
}

#[test]
fn nothing_is_taken_with_a_modifier_more_or_less_or_another() {
    let of_line = |line: &super::Line| -> Vec<Instruction> {
        let forms = line.forms();
        forms.iter().map(|form| parsed(form).unwrap_or_else(|error| panic!("{error}"))).collect()
    };
    let lines = lines();
    let taken: Vec<Vec<Instruction>> =
        lines.iter().filter(|line| line.state == State::Taken).map(of_line).collect();
    let keys: HashSet<String> = taken
        .iter()
        .flatten()
        .map(|instruction| key(&instruction.name, &instruction.modifiers))
        .collect();
    let all = forms();
    let universe: HashSet<&str> =
        all.iter().flat_map(|form| form.name.split('.').skip(1)).chain(OTHERS).collect();
    let mut trial = Trial::new();
    let (mut tried, mut wrong) = (0_u64, HashSet::new());
    let mut attempt = |instruction: &Instruction| {
        tried += 1;
        if trial.decode(instruction).is_ok() {
            let key = key(&instruction.name, &instruction.modifiers);
            if !keys.contains(&key) {
                wrong.insert(key);
            }
        }
    };
    for instruction in taken.iter().flat_map(|all| some(all)) {
        let mut changed = instruction.clone();
        for place in 0..instruction.modifiers.len() {
            let removed = changed.modifiers.remove(place);
            attempt(&changed);
            changed.modifiers.insert(place, removed);
        }
        for modifier in &universe {
            changed.modifiers.push((*modifier).to_owned());
            attempt(&changed);
            changed.modifiers.pop();
            for place in 0..instruction.modifiers.len() {
                let before =
                    std::mem::replace(&mut changed.modifiers[place], (*modifier).to_owned());
                attempt(&changed);
                changed.modifiers[place] = before;
            }
        }
    }
    let mut wrong: Vec<String> = wrong.into_iter().collect();
    wrong.sort_unstable();
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_page_is_written_of_the_lines() {
    let wanted = page::page(&lines());
    if std::env::var_os("CUDA_SIM_WRITE_PTX_PAGE").is_some() {
        std::fs::write(PAGE, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        found == wanted,
        "sim/ptx.md is out of date; its first lines have the command that writes it"
    );
}

/// Writes the input files for NVIDIA's assembler, which is not installed on every machine.
/// `cargo xtask clients ptx-forms` uses the files.
#[test]
fn the_forms_are_written_where_that_is_asked_for() {
    let Some(file) = std::env::var_os("CUDA_SIM_WRITE_PTX_FORMS") else { return };
    let file = std::path::PathBuf::from(file);
    let orders = order::forms().into_iter().chain(order::exchanges());
    let (taken, refused): (Vec<Form>, Vec<Form>) =
        orders.partition(|form| form.state == State::Taken);
    let listed = forms().into_iter().filter(|form| form.state == State::Taken);
    std::fs::write(&file, kernel(listed.chain(taken))).unwrap();
    std::fs::write(file.with_extension("refused.ptx"), kernel(refused)).unwrap();
}

/// Returns a kernel that consists of these instructions.
fn kernel(forms: impl IntoIterator<Item = Form>) -> String {
    let lines = forms.into_iter().map(|form| format!("{} {};", form.name, form.operands));
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.func F() {{ ret; }}\n.visible .entry k() {{\n\
         .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %l<16>;\n\
         .reg .f32 %f<16>; .reg .f64 %d<16>;\nL:\nT: .branchtargets L;\n{}\nret;\n}}\n",
        lines.collect::<Vec<_>>().join("\n")
    )
}
