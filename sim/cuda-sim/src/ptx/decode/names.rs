//! Resolves the names, functions and labels of a kernel.

use std::collections::{HashMap, HashSet};

use super::super::error::{PtxError, Reading};
use super::super::op::Register;
use super::super::syntax::{Function, Instruction, Module, Operand, Statement, Variable};
use super::super::types::{Space, Type};

/// The driver function that a failed `assert` in CUDA C++ calls. It is declared without a body.
pub(super) const ASSERT_FAIL: &str = "__assertfail";
/// The driver function that `printf` in CUDA C++ calls.
pub(super) const PRINT: &str = "vprintf";

/// The limit of nested calls. It ensures that no module exhausts the stack of the thread that
/// decodes it.
const DEPTH: usize = 256;

/// The meaning of a name. Positions are offsets in the state space.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Register(Register, Type),
    Global(u64),
    Shared(usize),
    /// The second field is the length in bytes.
    Local(usize, usize),
    Parameter(usize),
}

/// A kernel, the functions that it calls, and all names that these use.
#[derive(Debug)]
pub(super) struct Closure<'a> {
    pub(super) functions: Vec<&'a Function>,
    pub(super) names: HashSet<&'a str>,
}

impl<'a> Closure<'a> {
    pub(super) fn new(module: &'a Module, entry: &'a Function) -> Reading<Self> {
        let mut closure = Self { functions: Vec::new(), names: HashSet::new() };
        closure.add(module, entry, &mut Vec::new())?;
        Ok(closure)
    }

    fn add(
        &mut self,
        module: &'a Module,
        function: &'a Function,
        active: &mut Vec<&'a str>,
    ) -> Reading<()> {
        if active.contains(&function.name.as_str()) {
            return Err(PtxError::new(function.line, "recursion is not modelled"));
        }
        if self.functions.iter().any(|known| known.name == function.name) {
            return Ok(());
        }
        if active.len() == DEPTH {
            let text = format!("more than {DEPTH} functions that call each other are not modelled");
            return Err(PtxError::new(function.line, text));
        }
        active.push(&function.name);
        self.functions.push(function);
        for instruction in instructions(function) {
            for name in instruction.operands.iter().flat_map(names_of) {
                self.names.insert(name);
            }
            if let Some(callee) = callee(instruction).filter(|callee| !is_of_the_driver(callee)) {
                let is_it = |other: &&Function| other.name == callee && other.body.is_some();
                let called = module.functions.iter().find(is_it).ok_or_else(|| {
                    let text = format!("`{callee}` has no body to call");
                    let error = PtxError::new(instruction.line, text);
                    error.of(&instruction.name, &instruction.modifiers)
                })?;
                self.add(module, called, active)?;
            }
        }
        active.pop();
        Ok(())
    }

    pub(super) fn shared_variables(&self) -> impl Iterator<Item = &'a Variable> + '_ {
        let statements = self.functions.iter().flat_map(|function| function.body.iter().flatten());
        statements.filter_map(|statement| match statement {
            Statement::Variable(variable) if variable.space == Space::Shared => Some(variable),
            _ => None,
        })
    }
}

/// Returns `true` if the driver implements the function of this name.
fn is_of_the_driver(callee: &str) -> bool {
    [ASSERT_FAIL, PRINT].contains(&callee)
}

/// Returns the name of the function that an instruction calls.
pub(super) fn callee(instruction: &Instruction) -> Option<&str> {
    let mut operands = instruction.operands.iter();
    let found = operands.find_map(|operand| match operand {
        Operand::Name(name) => Some(name.as_str()),
        _ => None,
    });
    found.filter(|_| instruction.name == "call")
}

fn names_of(operand: &Operand) -> Vec<&str> {
    match operand {
        Operand::Name(name) | Operand::Address { base: Some(name), .. } => vec![name],
        Operand::Group(operands) | Operand::List(operands) => {
            operands.iter().flat_map(names_of).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn instructions(function: &Function) -> impl Iterator<Item = &Instruction> {
    function.body.iter().flatten().filter_map(|statement| match statement {
        Statement::Instruction(instruction) => Some(instruction),
        _ => None,
    })
}

/// The step that follows each label, and the lists of labels.
pub(super) type Labels = (HashMap<String, usize>, HashMap<String, Vec<String>>);

pub(super) fn labels(function: &Function, start: usize) -> Reading<Labels> {
    let (mut labels, mut lists) = (HashMap::new(), HashMap::new());
    let mut step = start;
    for statement in function.body.iter().flatten() {
        match statement {
            Statement::Instruction(_) => step += 1,
            Statement::Label(name) => {
                let before = labels.insert(name.clone(), step);
                if before.is_some() {
                    let text = format!("label `{name}` is defined twice in `{}`", function.name);
                    return Err(PtxError::new(function.line, text));
                }
            }
            Statement::Targets { name, labels } => {
                lists.insert(name.clone(), labels.clone());
            }
            _ => {}
        }
    }
    Ok((labels, lists))
}
