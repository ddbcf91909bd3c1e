//! Modifiers: each is read and checked, and an unread one is an error.

use super::super::error::{PtxError, Reading};
use super::super::syntax::{Instruction, Operand};
use super::super::types::Type;

/// The modifiers of an instruction that were not read yet.
pub(super) struct Modifiers<'a> {
    instruction: &'a Instruction,
    /// The modifiers with their positions.
    left: Vec<(usize, &'a str)>,
    /// The number of read modifiers that belong to the instruction's name.
    leading: usize,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(instruction: &'a Instruction) -> Self {
        let left = instruction.modifiers.iter().map(String::as_str).enumerate().collect();
        Self { instruction, left, leading: 0 }
    }

    /// Reads a modifier. Returns `true` if it is there.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.take_one(|other| (other == name).then_some(())).is_some()
    }

    /// Reads the first modifier for which `question` returns a value.
    pub(super) fn take_one<T>(&mut self, question: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self.left.iter().position(|(_, name)| question(name).is_some())?;
        question(self.left.remove(found).1)
    }

    /// Reads the first of these that is there.
    pub(super) fn take_among(&mut self, names: &[&'static str]) -> Option<&'static str> {
        let found = |name: &str| names.iter().find(|known| **known == name).copied();
        self.take_one(found)
    }

    /// Reads the first of these that is there, as a part of the instruction's name. NVIDIA's
    /// assembler accepts such a modifier only right after the name or after others of this sort. It
    /// accepts all other modifiers in any order.
    ///
    /// # Errors
    ///
    /// Fails if one stands elsewhere.
    pub(super) fn take_leading(&mut self, names: &[&'static str]) -> Reading<Option<&'static str>> {
        let known = |name: &str| names.iter().find(|known| **known == name).copied();
        let found = self.left.iter().position(|(_, name)| known(name).is_some());
        let Some(found) = found else { return Ok(None) };
        let (place, name) = self.left.remove(found);
        if place != self.leading {
            let before = &self.instruction.modifiers[place - 1];
            let text = format!("`.{name}` stands behind `.{before}`, where PTX does not have it");
            return Err(PtxError::new(self.instruction.line, text));
        }
        self.leading += 1;
        Ok(known(name))
    }

    pub(super) fn take_type(&mut self) -> Reading<Type> {
        self.take_one(Type::from_name).ok_or_else(|| unknown(self.instruction))
    }

    /// Fails if an unread modifier is left.
    pub(super) fn finish(&self) -> Reading<()> {
        let Some((_, name)) = self.left.first() else { return Ok(()) };
        let text = format!("the modifier `.{name}` is not modelled here");
        Err(PtxError::new(self.instruction.line, text))
    }
}

/// Returns exactly `N` operands.
pub(super) fn exactly<const N: usize>(instruction: &Instruction) -> Reading<&[Operand; N]> {
    instruction.operands.as_slice().try_into().map_err(|_| {
        let count = instruction.operands.len();
        PtxError::new(instruction.line, format!("{count} operands where {N} belong"))
    })
}

/// Returns the error for an instruction that is not modelled.
pub(super) fn unknown(instruction: &Instruction) -> PtxError {
    PtxError::new(instruction.line, "not modelled").of(&instruction.name, &instruction.modifiers)
}
