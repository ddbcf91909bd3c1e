//! A module as it is written: variables, functions, statements.

use std::collections::HashSet;

use super::error::{PtxError, Reading};
use super::types::{Space, Type};

/// A module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    /// `.version`, times ten.
    pub(crate) version: u32,
    /// The number in `.target`.
    pub(crate) target: u32,
    pub(crate) variables: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
}

impl Module {
    /// Each name is defined once; it may be declared as often as one likes.
    ///
    /// # Errors
    ///
    /// The first name that a second definition has.
    pub(super) fn refuse_second_definitions(&self) -> Reading<()> {
        let variables = self.variables.iter().filter(|one| one.linkage != Linkage::External);
        let functions = self.functions.iter().filter(|one| one.body.is_some());
        let defined = variables.map(|one| (&one.name, one.line));
        let mut names = HashSet::new();
        for (name, line) in defined.chain(functions.map(|one| (&one.name, one.line))) {
            if !names.insert(name) {
                return Err(PtxError::new(line, format!("`{name}` is defined twice")));
            }
        }
        Ok(())
    }
}

/// A variable, or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) element: Type,
    pub(crate) align: usize,
    /// Bytes; 0 where the size is left open.
    pub(crate) bytes: usize,
    pub(crate) linkage: Linkage,
    pub(crate) initial: Vec<Initial>,
}

/// Who knows a name of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Linkage {
    /// The module alone.
    #[default]
    Local,
    /// Every module that it is linked with.
    Visible,
    /// The same, unless another one has it, too.
    Weak,
    /// A variable of all modules that have it so, as large as the largest; a definition comes before.
    Common,
    /// It is another module's.
    External,
}

/// One element of an initial value.
#[derive(Clone, Debug)]
pub(crate) enum Initial {
    /// Its bits.
    Bits(u64),
    /// The address of another variable, and a distance from there.
    Address(String, i64),
}

/// A kernel or a function that kernels call.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) linkage: Linkage,
    pub(crate) is_entry: bool,
    pub(crate) parameters: Vec<Variable>,
    pub(crate) results: Vec<Variable>,
    /// `.maxntid` and `.reqntid`.
    pub(crate) most_threads: Option<[u32; 3]>,
    pub(crate) exact_threads: Option<[u32; 3]>,
    /// None where it is declared and not defined.
    pub(crate) body: Option<Vec<Statement>>,
}

/// What stands in a body.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Registers {
        ty: Type,
        names: Vec<String>,
    },
    Variable(Variable),
    Label(String),
    /// A list of labels that `brx.idx` names.
    Targets {
        name: String,
        labels: Vec<String>,
    },
    Instruction(Instruction),
    /// Names of a block are good until its end.
    Open,
    Close,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) line: u32,
    pub(crate) guard: Option<Guard>,
    pub(crate) name: String,
    pub(crate) modifiers: Vec<String>,
    pub(crate) operands: Vec<Operand>,
}

/// The predicate before an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) name: String,
    pub(crate) negated: bool,
}

/// What an instruction is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Name(String),
    /// A predicate that is turned around.
    Not(String),
    Integer(i128),
    Float32(u32),
    Float64(u64),
    /// `[base+offset]`, or a number alone.
    Address {
        base: Option<String>,
        offset: i64,
    },
    /// `{a, b}`.
    Group(Vec<Operand>),
    /// `(a, b)`.
    List(Vec<Operand>),
    /// `a|b`.
    Both(String, String),
}
