//! The syntax tree of a module: variables, functions and statements.

use std::collections::HashSet;

use super::error::{PtxError, Reading};
use super::types::{Space, Type};

/// A module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    /// The `.version`, times ten.
    pub(crate) version: u32,
    /// The number in `.target`.
    pub(crate) target: u32,
    pub(crate) variables: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
}

impl Module {
    /// Checks that no name is defined twice. A name may be declared any number of times.
    ///
    /// # Errors
    ///
    /// Fails with the first name that is defined a second time.
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

/// A variable or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) element: Type,
    pub(crate) align: usize,
    /// The size in bytes, or 0 if it is not specified.
    pub(crate) bytes: usize,
    pub(crate) linkage: Linkage,
    pub(crate) initial: Vec<Initial>,
}

/// The visibility of a name defined in a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Linkage {
    /// Visible only within the module.
    #[default]
    Local,
    /// Visible to every module with which this one is linked.
    Visible,
    /// Visible to other modules, unless another module also defines the name.
    Weak,
    /// Shared by all modules that declare the name as common. It has the largest declared size, and
    /// a definition takes precedence.
    Common,
    /// Defined in another module.
    External,
}

/// One element of an initial value.
#[derive(Clone, Debug)]
pub(crate) enum Initial {
    /// The bits of an element.
    Bits(u64),
    /// The address of another variable, and an offset.
    Address(String, i64),
}

/// A kernel, or a function that kernels call.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) linkage: Linkage,
    pub(crate) is_entry: bool,
    pub(crate) parameters: Vec<Variable>,
    pub(crate) results: Vec<Variable>,
    /// The limit set by `.maxntid` or `.reqntid`.
    pub(crate) most_threads: Option<[u32; 3]>,
    pub(crate) exact_threads: Option<[u32; 3]>,
    /// `None` if the function is declared but not defined.
    pub(crate) body: Option<Vec<Statement>>,
}

/// A statement in a body.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Registers {
        ty: Type,
        names: Vec<String>,
    },
    Variable(Variable),
    Label(String),
    /// A list of labels that `brx.idx` refers to.
    Targets {
        name: String,
        labels: Vec<String>,
    },
    Instruction(Instruction),
    /// The start of a block. Names declared in the block are valid until its end.
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

/// The predicate that precedes an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) name: String,
    pub(crate) negated: bool,
}

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Name(String),
    /// A negated predicate.
    Not(String),
    Integer(i128),
    Float32(u32),
    Float64(u64),
    /// `[base+offset]`, or a number by itself.
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
