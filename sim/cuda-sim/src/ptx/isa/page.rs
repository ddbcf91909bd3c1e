//! Generates `sim/ptx.md` from the list of instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Line, State};

/// The text before the tables.
const START: &str = "\
# PTX on the simulated driver

This page is for authors of PTX kernels. It lists the PTX 9.0 instructions that the [simulated
driver](../docs/simulator.md#kernels) runs, and the opcodes that it refuses in some or all forms.

The test command `CUDA_SIM_WRITE_PTX_PAGE=1 cargo test -p cuda-sim --lib isa` generates this page from
[`instructions.txt`](cuda-sim/src/ptx/isa/instructions.txt), which also lists each refused form. The tests of `cuda-sim`
compare each line of that file with the decoder, and compare this page with the file.

*Supported*: the simulator runs the instruction. *Refused*: loading the module fails, and a report names the
instruction. *Planned*: the instruction is also refused, but could be supported without modeling more of the device. All
forms that are not listed are refused too.

The modifiers in braces are alternatives. If the braces begin with a dot, the modifier is optional. Modifiers may appear
in a different order if NVIDIA's assembler accepts that order. `cargo xtask clients ptx-forms` in `sim/` checks all
supported forms with NVIDIA's assembler from CUDA 12.0. These names stand for lists:

| name | list |
|---|---|
| `{T}` | all types of 8 to 64 bits, except 16-bit floats |
| `{W}` | all types of 8 to 32 bits, except 16-bit floats |
";

/// Lists of modifiers that occur in many patterns, each with its name on the page.
const NAMED: [(&str, &str); 12] = [
    ("INTEGER", "u16,u32,u64,s16,s32,s64"),
    ("ANY", "u8,u16,u32,u64,s8,s16,s32,s64"),
    ("BITS", "b16,b32,b64"),
    ("LOGIC", "and,or,xor"),
    ("ROUNDING", "rn,rz,rm,rp"),
    ("ORDER", "eq,ne,lt,le,gt,ge"),
    ("COMPARISON", "eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan"),
    ("SPACE", ".global,.shared,.shared::cta"),
    ("SEMANTICS", ".relaxed,.acquire,.release,.acq_rel"),
    ("SCOPE", ".cta,.cluster,.gpu,.sys"),
    (
        "EVICTION",
        ".L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_allocate",
    ),
    ("PREFETCH", ".L2::64B,.L2::128B,.L2::256B"),
];

/// Returns the text of the whole page.
pub(super) fn page(lines: &[Line]) -> String {
    let mut text = START.to_owned();
    for (name, list) in NAMED {
        let _ = writeln!(text, "| `{{{name}}}` | `{{{list}}}` |");
    }
    let mut states: BTreeMap<&str, BTreeSet<bool>> = BTreeMap::new();
    let mut counts = [0; 3];
    for line in lines {
        for form in line.forms() {
            counts[index(line.state)] += 1;
            let taken = line.state == State::Taken;
            let opcode = super::OPCODES
                .split_whitespace()
                .find(|known| form.name.split('.').next() == Some(known));
            states.entry(opcode.unwrap_or("?")).or_default().insert(taken);
        }
    }
    let of = |wanted: &[bool]| {
        states.values().filter(|found| found.iter().copied().eq(wanted.iter().copied())).count()
    };
    let [taken, planned, refused] = counts;
    let _ = writeln!(
        text,
        "\nOf {} opcodes, {} are supported in all listed forms, {} in some forms, and {} in no \
         form.\n\
         The list contains {taken} supported, {planned} planned and {refused} refused forms.",
        states.len(),
        of(&[true]),
        of(&[false, true]),
        of(&[false]),
    );
    let mut sections: Vec<&str> = lines.iter().map(|line| line.section).collect();
    sections.dedup();
    for section in sections {
        let _ = write!(text, "\n## {section}\n");
        for state in [State::Taken, State::Planned, State::Refused] {
            let of_state = || lines.iter().filter(|l| l.section == section && l.state == state);
            let name = ["Supported", "Planned", "Refused"][index(state)];
            if of_state().next().is_none() {
                continue;
            }
            if state == State::Taken {
                let mut patterns: Vec<String> = of_state().map(|l| shown(l.pattern)).collect();
                patterns.dedup();
                let _ = write!(text, "\n{name}:\n\n```text\n{}\n```\n", patterns.join("\n"));
            } else {
                let opcodes = of_state().flat_map(Line::forms).map(|form| opcode(&form.name));
                let opcodes: BTreeSet<String> = opcodes.collect();
                let opcodes: Vec<String> = opcodes.into_iter().collect();
                let _ = write!(
                    text,
                    "\n{name}, some or all forms:\n\n```text\n{}\n```\n",
                    wrapped(&opcodes)
                );
            }
        }
    }
    text
}

/// Returns the part of an instruction's name before the first period.
fn opcode(name: &str) -> String {
    name.split('.').next().unwrap_or(name).to_owned()
}

/// Joins words with spaces, in lines of at most 100 columns.
fn wrapped(words: &[String]) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in words {
        if column > 0 {
            let is_full = column + 1 + word.len() > 100;
            text.push(if is_full { '\n' } else { ' ' });
            column = if is_full { 0 } else { column + 1 };
        }
        text.push_str(word);
        column += word.len();
    }
    text
}

fn index(state: State) -> usize {
    match state {
        State::Taken => 0,
        State::Planned => 1,
        State::Refused => 2,
    }
}

/// Formats a pattern in the style of PTX's manual, using the names in [`NAMED`].
fn shown(pattern: &str) -> String {
    let mut shown = pattern.replace("{|", "{").replace('|', ",");
    for (name, list) in NAMED {
        shown = shown.replace(&format!("{{{list}}}"), &format!("{{{name}}}"));
    }
    shown
}
