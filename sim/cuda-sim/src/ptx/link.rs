//! Links several modules into one: resolves declarations, and keeps module-local names apart.
//!
//! The result is a single text, so it can be returned to a caller and loaded later. Its first line
//! marks it as linked. Each module follows a line that contains its length.

use std::collections::{HashMap, HashSet};

use super::error::{PtxError, Reading};
use super::syntax::{Function, Initial, Linkage, Module, Operand, Statement, Variable};

/// The first line of a linked text.
const LINKED: &str = "// PTX of several modules, linked by the simulated CUDA driver\n";
/// The line before each module. It ends with the number of bytes in the module.
const PIECE: &str = "// module of bytes: ";

/// Returns the text of the linked modules. Inputs that are already linked are split first.
///
/// # Errors
///
/// Fails if an input is marked as linked but malformed.
pub(crate) fn image(texts: &[String]) -> Reading<String> {
    let mut image = LINKED.to_owned();
    for text in texts {
        let own = pieces(text)?.unwrap_or_else(|| vec![(text.as_str(), 1)]);
        for (piece, _) in own {
            image += &format!("{PIECE}{}\n{piece}\n", piece.len());
        }
    }
    Ok(image)
}

/// Returns the modules of a linked text, each with the number of its first line. Returns `None` for
/// any other text.
pub(super) fn pieces(text: &str) -> Reading<Option<Vec<(&str, u32)>>> {
    let Some(mut rest) = text.strip_prefix(LINKED) else { return Ok(None) };
    let (mut pieces, mut line) = (Vec::new(), 2_u32);
    while !rest.is_empty() {
        let damaged = || PtxError::new(line, "this text was linked, and changed later");
        let (head, body) = rest.split_once('\n').ok_or_else(damaged)?;
        let bytes = head.strip_prefix(PIECE).and_then(|bytes| bytes.parse().ok());
        let (piece, behind) =
            bytes.and_then(|bytes| body.split_at_checked(bytes)).ok_or_else(damaged)?;
        rest = behind.strip_prefix('\n').ok_or_else(damaged)?;
        pieces.push((piece, line + 1));
        let lines = piece.matches('\n').count();
        line = line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX)).saturating_add(2);
    }
    Ok(Some(pieces))
}

/// Merges several modules into one.
///
/// # Errors
///
/// Fails for a name that two modules define, and for a name that two modules declare differently.
pub(super) fn link(mut pieces: Vec<Module>) -> Reading<Module> {
    rename_shared_names(&mut pieces)?;
    let mut whole = Module::default();
    for piece in pieces {
        whole.version = whole.version.max(piece.version);
        whole.target = whole.target.max(piece.target);
        piece.variables.into_iter().try_for_each(|one| add(&mut whole.variables, one))?;
        piece.functions.into_iter().try_for_each(|one| add(&mut whole.functions, one))?;
    }
    let variable = |name: &str| whole.variables.iter().any(|one| one.name == name);
    match whole.functions.iter().find(|one| variable(&one.name)) {
        Some(both) => Err(clash(both, "a variable in one module and a function in another")),
        None => Ok(whole),
    }
}

/// The properties of a function or variable that matter for linking.
trait Linked {
    fn name(&self) -> &str;
    fn line(&self) -> u32;
    fn linkage(&self) -> Linkage;
    /// Returns `true` if this is a definition, and not only a declaration.
    fn is_defined(&self) -> bool;
    /// Merges the requirements of another declaration.
    fn join(&mut self, other: &Self);
    fn is_larger(&self, other: &Self) -> bool;
    /// Returns `true` if the declaration and the definition match.
    fn fits(&self, other: &Self) -> bool;
}

impl Linked for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn line(&self) -> u32 {
        self.line
    }

    fn linkage(&self) -> Linkage {
        self.linkage
    }

    fn is_defined(&self) -> bool {
        self.body.is_some()
    }

    fn join(&mut self, _other: &Self) {}

    fn is_larger(&self, _other: &Self) -> bool {
        false
    }

    fn fits(&self, other: &Self) -> bool {
        let bytes = |all: &[Variable]| all.iter().map(|one| one.bytes).collect::<Vec<_>>();
        bytes(&self.parameters) == bytes(&other.parameters)
            && bytes(&self.results) == bytes(&other.results)
    }
}

impl Linked for Variable {
    fn name(&self) -> &str {
        &self.name
    }

    fn line(&self) -> u32 {
        self.line
    }

    fn linkage(&self) -> Linkage {
        self.linkage
    }

    fn is_defined(&self) -> bool {
        self.linkage != Linkage::External
    }

    fn join(&mut self, other: &Self) {
        // Dynamic shared memory has the strictest alignment that any of its names requires.
        self.align = self.align.max(other.align);
    }

    fn is_larger(&self, other: &Self) -> bool {
        self.bytes > other.bytes
    }

    fn fits(&self, other: &Self) -> bool {
        let sizes_fit = self.bytes == other.bytes
            || self.bytes == 0
            || other.bytes == 0
            || (self.linkage == Linkage::Common && other.linkage == Linkage::Common);
        self.space == other.space && sizes_fit
    }
}

fn clash(one: &impl Linked, what: &str) -> PtxError {
    PtxError::new(one.line(), format!("`{}` is {what}", one.name()))
}

/// Adds one function or variable. A definition replaces declarations, and a strong definition
/// replaces weak ones.
fn add<T: Linked>(all: &mut Vec<T>, new: T) -> Reading<()> {
    let Some(known) = all.iter_mut().find(|known| known.name() == new.name()) else {
        all.push(new);
        return Ok(());
    };
    if !known.fits(&new) {
        return Err(clash(&new, "another thing in another module: sizes or spaces differ"));
    }
    let replaces = match (known.is_defined(), new.is_defined()) {
        (true, true) => match (known.linkage(), new.linkage()) {
            (Linkage::Common, Linkage::Common) => new.is_larger(known),
            (_, Linkage::Weak | Linkage::Common) => false,
            (Linkage::Weak | Linkage::Common, _) => true,
            _ => return Err(clash(&new, "defined in another module, too")),
        },
        (defined, by_new) => by_new && !defined,
    };
    if replaces {
        *known = new;
    } else if !known.is_defined() {
        known.join(&new);
    }
    Ok(())
}

/// Renames module-local names that occur in several modules.
fn rename_shared_names(pieces: &mut [Module]) -> Reading<()> {
    let mut owners: HashMap<String, HashSet<usize>> = HashMap::new();
    for (index, piece) in pieces.iter().enumerate() {
        for name in names(piece, |_| true) {
            owners.entry(name).or_default().insert(index);
        }
    }
    for (index, piece) in pieces.iter_mut().enumerate() {
        let own = names(piece, |linkage| linkage == Linkage::Local);
        let shared = own.into_iter().filter(|name| owners[name].len() > 1);
        let renamed: HashMap<String, String> =
            shared.map(|name| (name.clone(), format!("{name}@{index}"))).collect();
        if !renamed.is_empty() {
            rename(piece, &renamed)?;
        }
    }
    Ok(())
}

fn names(piece: &Module, wanted: impl Fn(Linkage) -> bool) -> HashSet<String> {
    // A kernel is called from outside by its name.
    let of_function = |one: &Function| if one.is_entry { Linkage::Visible } else { one.linkage };
    let functions = piece.functions.iter().map(|one| (&one.name, of_function(one)));
    let variables = piece.variables.iter().map(|one| (&one.name, one.linkage));
    let all = functions.chain(variables).filter(|(_, linkage)| wanted(*linkage));
    all.map(|(name, _)| name.clone()).collect()
}

fn rename(piece: &mut Module, renamed: &HashMap<String, String>) -> Reading<()> {
    for variable in &mut piece.variables {
        change(&mut variable.name, renamed);
        for initial in &mut variable.initial {
            if let Initial::Address(name, _) = initial {
                change(name, renamed);
            }
        }
    }
    for function in &mut piece.functions {
        if let Some(name) = hidden(function, renamed) {
            let what = format!("`{name}` names two objects in `{}`", function.name);
            return Err(PtxError::new(function.line, what + ": not modelled in a linked module"));
        }
        change(&mut function.name, renamed);
        for statement in function.body.iter_mut().flatten() {
            if let Statement::Instruction(instruction) = statement {
                instruction.operands.iter_mut().for_each(|one| change_operand(one, renamed));
            }
        }
    }
    Ok(())
}

/// Returns the name of a local object of the function that hides a renamed name, if there is one.
fn hidden(function: &Function, renamed: &HashMap<String, String>) -> Option<String> {
    let parameters = function.parameters.iter().chain(&function.results).map(|one| &one.name);
    let inside = function.body.iter().flatten().flat_map(|statement| match statement {
        Statement::Registers { names, .. } => names.iter().collect(),
        Statement::Variable(variable) => vec![&variable.name],
        Statement::Label(name) | Statement::Targets { name, .. } => vec![name],
        Statement::Instruction(_) | Statement::Open | Statement::Close => Vec::new(),
    });
    parameters.chain(inside).find(|name| renamed.contains_key(*name)).cloned()
}

fn change(name: &mut String, renamed: &HashMap<String, String>) {
    if let Some(new) = renamed.get(name) {
        name.clone_from(new);
    }
}

fn change_operand(operand: &mut Operand, renamed: &HashMap<String, String>) {
    match operand {
        Operand::Name(name) | Operand::Not(name) | Operand::Address { base: Some(name), .. } => {
            change(name, renamed);
        }
        Operand::Group(operands) | Operand::List(operands) => {
            operands.iter_mut().for_each(|one| change_operand(one, renamed));
        }
        Operand::Both(first, second) => {
            change(first, renamed);
            change(second, renamed);
        }
        Operand::Integer(_)
        | Operand::Float32(_)
        | Operand::Float64(_)
        | Operand::Address { base: None, .. } => {}
    }
}
