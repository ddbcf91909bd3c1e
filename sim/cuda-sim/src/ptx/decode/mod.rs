//! Converts a parsed module into programs: numbers the registers, resolves the labels, and decodes
//! every instruction.

mod arithmetic;
mod carry;
mod choice;
mod control;
mod memory;
mod modifiers;
mod moves;
mod names;
mod operands;
#[cfg(test)]
mod trial;
mod warp;

use std::collections::HashMap;
use std::sync::Arc;

use super::error::{PtxError, Reading};
use super::op::{Kind, Move, Parameter, Program, Register, Special, Step};
use super::syntax::{Function, Instruction, Module, Statement, Variable};
use super::types::Space;
use modifiers::{Modifiers, unknown};
use names::{Closure, Symbol};
#[cfg(test)]
pub(super) use trial::Trial;

/// CUDA's limits for a kernel. PTX itself does not limit the number of registers.
const SHARED_BYTES: usize = 48 << 10;
const LOCAL_BYTES: usize = 512 << 10;
const PARAMETER_BYTES: usize = 32_764;
const REGISTERS: usize = 1 << 16;

/// Decodes a kernel together with all functions that it calls.
///
/// # Errors
///
/// Fails for the first unknown instruction, modifier, type or name.
pub(crate) fn program(
    module: &Module,
    entry: &Function,
    globals: &HashMap<String, u64>,
    text: &Arc<str>,
) -> Reading<Program> {
    let closure = Closure::new(module, entry)?;
    let mut decoder = Decoder::new(globals);
    decoder.lay_out_shared(module, &closure)?;
    let (parameters, parameter_bytes) = if entry.is_entry {
        decoder.lay_out_parameters(&entry.parameters)
    } else {
        (Vec::new(), 0)
    };
    decoder.lay_out_frames(&closure, entry.is_entry);
    for function in &closure.functions {
        decoder.function(function)?;
    }
    decoder.check_sizes(entry.line, parameter_bytes)?;
    Ok(Program {
        name: entry.name.clone(),
        steps: decoder.steps,
        registers: decoder.registers,
        constants: decoder.constants.into_iter().map(|(bits, register)| (register, bits)).collect(),
        specials: decoder.specials.into_iter().map(|(name, register)| (register, name)).collect(),
        parameters,
        parameter_bytes,
        shared_bytes: decoder.shared_bytes,
        local_bytes: decoder.local_bytes,
        most_threads: entry.most_threads,
        exact_threads: entry.exact_threads,
        waits_for_dependency: decoder.waits_for_dependency,
        version: module.version,
        text: Arc::clone(text),
    })
}

/// The start of a called function, and the positions of its parameters and results in the thread's
/// memory.
#[derive(Clone, Debug, Default)]
struct Frame {
    start: usize,
    parameters: Vec<(usize, usize)>,
    results: Vec<(usize, usize)>,
}

/// The state of decoding one kernel.
struct Decoder {
    /// Symbols by name, for the module, the function and each enclosing block.
    scopes: Vec<HashMap<String, Symbol>>,
    frames: HashMap<String, Frame>,
    labels: HashMap<String, usize>,
    targets: HashMap<String, Vec<String>>,
    steps: Vec<Step>,
    registers: usize,
    constants: HashMap<u64, Register>,
    specials: HashMap<Special, Register>,
    /// The register that receives discarded results.
    sink: Register,
    /// The register of the carry, which has no name in PTX.
    carry: Register,
    shared_bytes: usize,
    local_bytes: usize,
    in_entry: bool,
    waits_for_dependency: bool,
}

impl Decoder {
    fn new(globals: &HashMap<String, u64>) -> Self {
        let module = globals.iter().map(|(name, address)| (name.clone(), Symbol::Global(*address)));
        Self {
            scopes: vec![module.collect()],
            frames: HashMap::new(),
            labels: HashMap::new(),
            targets: HashMap::new(),
            steps: Vec::new(),
            registers: 2,
            constants: HashMap::new(),
            specials: HashMap::new(),
            sink: 0,
            carry: 1,
            shared_bytes: 0,
            local_bytes: 0,
            in_entry: false,
            waits_for_dependency: false,
        }
    }

    /// Lays out the shared variables that the kernel's functions use. Variables of unspecified size
    /// come last.
    fn lay_out_shared(&mut self, module: &Module, closure: &Closure<'_>) -> Reading<()> {
        let is_shared = |variable: &&Variable| variable.space == Space::Shared;
        let of_module = module.variables.iter().filter(is_shared);
        let wanted = of_module.filter(|variable| closure.names.contains(variable.name.as_str()));
        let variables: Vec<&Variable> = wanted.collect();
        for variable in variables.iter().filter(|variable| variable.bytes > 0) {
            let offset = self.take_shared(variable);
            self.scopes[0].insert(variable.name.clone(), Symbol::Shared(offset));
        }
        // The variables of the functions come next, so the variables of unspecified size start
        // after those.
        for variable in closure.shared_variables() {
            if variable.bytes == 0 {
                return Err(PtxError::new(variable.line, "shared memory of no size in a function"));
            }
            let offset = self.take_shared(variable);
            self.scopes[0].insert(variable.name.clone(), Symbol::Shared(offset));
        }
        let open = variables.iter().filter(|variable| variable.bytes == 0);
        if let Some(align) = open.clone().map(|variable| variable.align).max() {
            self.shared_bytes = self.shared_bytes.next_multiple_of(align.max(16));
        }
        for variable in open {
            self.scopes[0].insert(variable.name.clone(), Symbol::Shared(self.shared_bytes));
        }
        Ok(())
    }

    fn take_shared(&mut self, variable: &Variable) -> usize {
        let offset = self.shared_bytes.next_multiple_of(variable.align);
        self.shared_bytes = offset + variable.bytes;
        offset
    }

    fn lay_out_parameters(&mut self, parameters: &[Variable]) -> (Vec<Parameter>, usize) {
        let (mut places, mut end) = (Vec::new(), 0_usize);
        for parameter in parameters {
            let offset = end.next_multiple_of(parameter.align);
            end = offset + parameter.bytes;
            places.push(Parameter { offset, bytes: parameter.bytes });
            self.scopes[0].insert(parameter.name.clone(), Symbol::Parameter(offset));
        }
        (places, end)
    }

    /// Lays out the start and the parameters of each function. No function is active twice in a
    /// thread, so each needs only one frame.
    fn lay_out_frames(&mut self, closure: &Closure<'_>, has_entry: bool) {
        let mut start = 0;
        for (index, function) in closure.functions.iter().enumerate() {
            let mut frame = Frame { start, ..Frame::default() };
            if index > 0 || !has_entry {
                for parameter in &function.parameters {
                    frame.parameters.push((self.take_local(parameter), parameter.bytes));
                }
                for result in &function.results {
                    frame.results.push((self.take_local(result), result.bytes));
                }
            }
            self.frames.insert(function.name.clone(), frame);
            start += names::instructions(function).count() + 1;
        }
    }

    fn take_local(&mut self, variable: &Variable) -> usize {
        let offset = self.local_bytes.next_multiple_of(variable.align);
        self.local_bytes = offset + variable.bytes;
        offset
    }

    /// Checks that a kernel is within all limits.
    fn check_sizes(&self, line: u32, parameters: usize) -> Reading<()> {
        for (what, size, most) in [
            ("shared memory", self.shared_bytes, SHARED_BYTES),
            ("local memory of a thread", self.local_bytes, LOCAL_BYTES),
            ("parameters", parameters, PARAMETER_BYTES),
            ("registers", self.registers, REGISTERS),
        ] {
            if size > most {
                let text =
                    format!("too many bytes or pieces of {what}: {size}, and {most} at most");
                return Err(PtxError::new(line, text));
            }
        }
        Ok(())
    }

    fn function(&mut self, function: &Function) -> Reading<()> {
        let frame = self.frames.get(&function.name).cloned().unwrap_or_default();
        self.in_entry = function.is_entry;
        let names = function.parameters.iter().zip(&frame.parameters);
        let results = function.results.iter().zip(&frame.results);
        let of = |(variable, place): (&Variable, &(usize, usize))| {
            (variable.name.clone(), Symbol::Local(place.0, place.1))
        };
        self.scopes.push(names.chain(results).map(of).collect());
        (self.labels, self.targets) = names::labels(function, frame.start)?;
        for statement in function.body.iter().flatten() {
            self.statement(statement)?;
        }
        self.scopes.truncate(1);
        self.steps.push(Step { line: function.line, guard: None, kind: Kind::Return });
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Reading<()> {
        match statement {
            Statement::Open => self.scopes.push(HashMap::new()),
            Statement::Close => drop(self.scopes.pop()),
            Statement::Label(_) | Statement::Targets { .. } => {}
            Statement::Registers { ty, names } => {
                for name in names {
                    let register = self.new_register();
                    self.declare(name, Symbol::Register(register, *ty));
                }
            }
            Statement::Variable(variable) => self.variable(variable)?,
            Statement::Instruction(instruction) => {
                let guard = match &instruction.guard {
                    Some(guard) => {
                        let register = self.predicate_register(&guard.name, instruction.line)?;
                        Some(super::op::Guard { register, negated: guard.negated })
                    }
                    None => None,
                };
                let kind = self.instruction(instruction);
                let kind =
                    kind.map_err(|error| error.of(&instruction.name, &instruction.modifiers))?;
                self.steps.push(Step { line: instruction.line, guard, kind });
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable) -> Reading<()> {
        match variable.space {
            Space::Local | Space::Param if variable.bytes > 0 => {
                let offset = self.take_local(variable);
                self.declare(&variable.name, Symbol::Local(offset, variable.bytes));
                Ok(())
            }
            // The variable has already been laid out.
            Space::Shared => Ok(()),
            _ => Err(PtxError::new(variable.line, "a body cannot declare a variable of this kind")),
        }
    }

    fn declare(&mut self, name: &str, symbol: Symbol) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), symbol);
        }
    }

    fn new_register(&mut self) -> Register {
        self.registers += 1;
        self.registers - 1
    }

    fn instruction(&mut self, instruction: &Instruction) -> Reading<Kind> {
        let mut modifiers = Modifiers::new(instruction);
        let kind = match instruction.name.as_str() {
            "mov" => self.mov(instruction, &mut modifiers),
            "cvt" => self.cvt(instruction, &mut modifiers),
            "cvta" => self.cvta(instruction, &mut modifiers),
            "isspacep" => self.isspacep(instruction, &mut modifiers),
            "selp" => self.selp(instruction, &mut modifiers),
            "slct" => self.slct(instruction, &mut modifiers),
            "setp" | "set" => self.compare(instruction, &mut modifiers),
            "ld" | "ldu" | "st" => self.transfer(instruction, &mut modifiers),
            "atom" | "red" => self.atomic(instruction, &mut modifiers),
            "bra" | "brx" => self.branch(instruction, &mut modifiers),
            "call" => self.call(instruction, &mut modifiers),
            "ret" | "exit" | "trap" | "membar" | "fence" | "nanosleep" | "griddepcontrol"
            | "prefetch" => self.plain(instruction, &mut modifiers),
            "bar" | "barrier" => self.barrier(instruction, &mut modifiers),
            "shfl" => self.shuffle(instruction, &mut modifiers),
            "vote" => self.vote(instruction, &mut modifiers),
            "match" => self.matching(instruction, &mut modifiers),
            "redux" => self.reduce(instruction, &mut modifiers),
            "activemask" => self.active_mask(instruction, &mut modifiers),
            _ => self.arithmetic(instruction, &mut modifiers),
        }?;
        modifiers.finish()?;
        Ok(kind)
    }
}

/// Pairs call arguments with formal parameters. The two lists must match.
fn moves(from: &[(usize, usize)], to: &[(usize, usize)], line: u32) -> Reading<Vec<Move>> {
    let fits = from.len() == to.len() && from.iter().zip(to).all(|(from, to)| from.1 == to.1);
    if !fits {
        return Err(PtxError::new(line, "arguments and parameters differ in number or size"));
    }
    Ok(from.iter().zip(to).map(|(from, to)| (from.0, to.0, from.1)).collect())
}
