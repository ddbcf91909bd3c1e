//! Generates `docs/ptx.md` from the list of instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Line, State};

/// The text before the tables.
const START: &str = "\
# PTX on the simulated driver

This page is for authors of PTX kernels. It lists the PTX 9.0 instructions that the [simulated
driver](simulator.md#kernels) runs, and those that it refuses.

The test command `CUDA_SIM_WRITE_PTX_PAGE=1 cargo test -p cuda-sim --lib isa` generates this page from
`sim/cuda-sim/src/ptx/isa/instructions.txt`. The tests of `cuda-sim` compare each line of that file with the decoder,
and compare this page with the file.

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
const NAMED: [(&str, &str); 7] = [
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
         This page lists {taken} supported, {planned} planned and {refused} refused forms.",
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
            let patterns: Vec<String> = lines
                .iter()
                .filter(|line| line.section == section && line.state == state)
                .map(|line| shown(line.pattern))
                .collect();
            if !patterns.is_empty() {
                let name = ["Supported", "Planned", "Refused"][index(state)];
                let _ = write!(text, "\n{name}:\n\n```text\n{}\n```\n", patterns.join("\n"));
            }
        }
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
