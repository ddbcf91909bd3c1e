//! The support for each PTX instruction. `instructions.txt` lists them, tests compare the list with
//! the decoder, and `sim/ptx.md` is generated from it.
//!
//! Each line of that file consists of a mark and a pattern. `+` means supported, `~` means refused
//! for now, and `-` means refused permanently. A pattern contains alternatives in braces, `{rn|rz}`
//! or `{|.sat}`, which expand to all their combinations. Operands follow. `h`, `r`, `l` are
//! registers of 16, 32 and 64 bits; `f` and `d` hold floats; `p` are predicates. `$` has the last
//! type among the modifiers, and `^` the first. `A` is an address, `i` a number, `L` a label, `T` a
//! list of labels and `F` a function. `{T}` stands for all types of 8 to 64 bits except 16-bit
//! floats, and `{W}` for those of up to 32 bits. Modifiers are in the order of PTX's manual;
//! `order.txt` lists other accepted orders.

mod order;
mod page;
mod tests;

/// The support for a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Taken,
    /// The form is refused, but can be added without modelling more of a device.
    Planned,
    Refused,
}

/// A line of the file.
#[derive(Clone, Debug)]
struct Line {
    state: State,
    pattern: &'static str,
    operands: &'static str,
}

/// One spelling of an instruction.
#[derive(Clone, Debug)]
struct Form {
    state: State,
    /// The name with its modifiers.
    name: String,
    operands: String,
}

/// All opcodes of PTX 9.0, from the table of reserved words in the chapter "Syntax" of the manual.
/// For opcodes with a common beginning, such as `ld` and `cp`, that table contains a single entry.
const OPCODES: &str = "abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev \
    brkpt brx call clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 \
    exit fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max \
    mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt \
    rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave \
    stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 \
    vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub \
    vsub2 vsub4 wgmma wmma xor";

/// Returns the lines of the file, in order.
fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    for line in include_str!("instructions.txt").lines() {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        let state = match mark {
            "#" => continue, // the heading of a section
            "+" => State::Taken,
            "~" => State::Planned,
            "-" => State::Refused,
            _ => panic!("no line of instructions: {line:?}"),
        };
        let (pattern, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        lines.push(Line { state, pattern, operands });
    }
    lines
}

impl Line {
    /// Returns one form for each combination of the alternatives.
    fn forms(&self) -> Vec<Form> {
        let name_of = |name: String| {
            let operands = spelled(self.operands, &name);
            Form { state: self.state, name, operands }
        };
        expanded(self.pattern).into_iter().map(name_of).collect()
    }
}

/// The expansions of `{T}` and `{W}`.
const TYPES: [(&str, &str); 2] = [
    ("{T}", "{b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64}"),
    ("{W}", "{b8|b16|b32|u8|u16|u32|s8|s16|s32|f32}"),
];

/// Expands the alternatives of a pattern.
fn expanded(pattern: &str) -> Vec<String> {
    let named = TYPES.iter().find(|(name, _)| pattern.contains(name));
    if let Some((name, types)) = named {
        return expanded(&pattern.replace(name, types));
    }
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, after) = rest.split_once('}').unwrap_or((rest, ""));
    let afters = expanded(after);
    let of_choice = |choice: &str| {
        let start = format!("{before}{choice}");
        afters.iter().map(|after| format!("{start}{after}")).collect::<Vec<_>>()
    };
    choices.split('|').flat_map(of_choice).collect()
}

/// Formats the operands that follow an instruction.
fn spelled(operands: &str, name: &str) -> String {
    let types: Vec<char> = name.split('.').filter_map(register_of).collect();
    let (first, last) = (types.first().copied(), types.last().copied());
    let mut text = String::new();
    for (index, letter) in operands.char_indices() {
        let beside = |at: Option<char>| at.is_none_or(|letter| !letter.is_alphanumeric());
        let alone = beside(operands[..index].chars().next_back())
            && beside(operands[index + letter.len_utf8()..].chars().next());
        let register = match letter {
            '$' => last,
            '^' => first,
            'h' | 'r' | 'l' | 'f' | 'd' | 'p' if alone => Some(letter),
            'A' if alone => {
                text.push_str("[%l15]");
                continue;
            }
            'i' if alone => {
                text.push('1');
                continue;
            }
            _ => None,
        };
        match register {
            // Each operand uses a different register.
            Some(register) => text.push_str(&format!("%{register}{}", index % 15)),
            None => text.push(letter),
        }
    }
    text
}

/// Returns the letter of the registers that hold a type, or `None` for other modifiers.
fn register_of(modifier: &str) -> Option<char> {
    Some(match modifier {
        "pred" => 'p',
        "b8" | "u8" | "s8" | "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 'h',
        "b32" | "u32" | "s32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "tf32" => 'r',
        "b64" | "u64" | "s64" | "f32x2" | "b128" => 'l',
        "f32" => 'f',
        "f64" => 'd',
        _ => return None,
    })
}
