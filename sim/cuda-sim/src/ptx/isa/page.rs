//! Generates `sim/ptx.md` from the list of instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Line, State};

/// The text before the lists.
const START: &str = "\
# PTX on the simulated driver

This page is for authors of PTX kernels. It lists the opcodes of PTX 9.0 that the [simulated
driver](../docs/simulator.md#kernels) supports in all, some, or no forms.

[`instructions.txt`](cuda-sim/src/ptx/isa/instructions.txt) lists the forms of each opcode. A form that is not in the
file is refused.

| mark | meaning |
|---|---|
| `+` | supported: the simulator runs the instruction |
| `~` | refused, but could be supported without modeling more of the device |
| `-` | refused: loading the module fails, and a report names the instruction |

In a pattern, the modifiers in braces are alternatives, and an empty alternative makes the modifier optional. `{T}`
stands for all types of 8 to 64 bits, and `{W}` for all types of 8 to 32 bits, both without 16-bit floats. The letters
after a pattern denote the operands. Modifiers may appear in a different order if NVIDIA's assembler accepts that order.
`cargo xtask clients ptx-forms` in `sim/` checks all supported forms with NVIDIA's assembler from CUDA 12.0. The tests
of `cuda-sim` compare each line with the decoder.

The test command `CUDA_SIM_WRITE_PTX_PAGE=1 cargo test -p cuda-sim --lib isa` generates this page.
";

/// Returns the text of the whole page.
pub(super) fn page(lines: &[Line]) -> String {
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
    let of = |wanted: &[bool]| -> Vec<&str> {
        let is_wanted = |found: &BTreeSet<bool>| found.iter().copied().eq(wanted.iter().copied());
        states.iter().filter(|(_, found)| is_wanted(found)).map(|(opcode, _)| *opcode).collect()
    };
    let [taken, planned, refused] = counts;
    let mut text = START.to_owned();
    let _ = writeln!(
        text,
        "\nOf {} opcodes, {} are supported in all listed forms, {} in some forms, and {} in no \
         form.\n\
         The file lists {taken} supported, {planned} planned and {refused} refused forms.",
        states.len(),
        of(&[true]).len(),
        of(&[false, true]).len(),
        of(&[false]).len(),
    );
    for (title, wanted) in [
        ("Supported in all listed forms", &[true][..]),
        ("Supported in some forms", &[false, true]),
        ("Refused in all forms", &[false]),
    ] {
        let _ = write!(text, "\n## {title}\n\n```text\n{}\n```\n", wrapped(&of(wanted)));
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

/// Joins words with spaces, in lines of at most 100 columns.
fn wrapped(words: &[&str]) -> String {
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
