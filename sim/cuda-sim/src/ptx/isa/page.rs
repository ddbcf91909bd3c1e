//! Generates `docs/ptx.md` from the lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Line, State};

/// The text before the tables.
const START: &str = "\
# PTX on the simulated driver

Which instructions of PTX 9.0 the [simulated driver](simulator.md#kernels) runs. The page is written of
`sim/cuda-sim/src/ptx/isa/instructions.txt`; tests of `cuda-sim` hold each line against the decoder, and this page against
the lines. To write it anew: `CUDA_SIM_WRITE_PTX_PAGE=1 cargo test -p cuda-sim --lib isa`.

*Taken* is run as PTX says. *Refused* is an error when a module is loaded, which names the instruction; *planned* is
refused as well, and can be had without modelling more of a device. Modifiers in braces stand for each of them, or for
none where the braces begin with a dot. What is on no line is refused, too: a test adds, removes and exchanges modifiers of
all that is taken, and what the decoder then takes must be on a line. In `sim/`, `cargo xtask clients ptx-forms` gives all that is
taken to NVIDIA's assembler of CUDA 12.0, which takes it as well. Modifiers may stand in another order where that assembler
lets them: in any, but that types count in theirs, and that what belongs to an instruction's name stands directly behind
it (`.lo`, `.hi` and `.wide` of products, `.full`, `.to`, `.idx`, `.l` and `.r` of `shf`, `.cta`, `.red` and `.warp` of
barriers).
";

/// Returns the whole page.
pub(super) fn page(lines: &[Line]) -> String {
    let mut text = START.to_owned();
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
        "\nOf {} opcodes {} are taken in all forms that are listed, {} in some, and {} in none. Forms: {taken} taken, \
         {planned} planned, {refused} refused.",
        states.len(),
        of(&[true]),
        of(&[false, true]),
        of(&[false]),
    );
    let mut section = "";
    for line in lines {
        if line.section != section {
            section = line.section;
            let _ = write!(text, "\n## {section}\n\n| instruction | |\n|---|---|\n");
        }
        let state = ["taken", "planned", "refused"][index(line.state)];
        let _ = writeln!(text, "| `{}` | {state} |", shown(line.pattern));
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

/// Formats a pattern as PTX's manual does; a bar would end a cell.
fn shown(pattern: &str) -> String {
    pattern.replace("{|", "{").replace('|', ",")
}
