//! Modifiers. Each is consumed and checked, and a modifier that remains unread is an error.

use super::super::error::{PtxError, Reading};
use super::super::syntax::{Instruction, Operand};
use super::super::types::Type;

/// The modifiers of an instruction that have not been consumed yet.
pub(super) struct Modifiers<'a> {
    instruction: &'a Instruction,
    /// The remaining modifiers with their positions.
    left: Vec<(usize, &'a str)>,
    /// The number of consumed modifiers that belong to the instruction's name.
    leading: usize,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(instruction: &'a Instruction) -> Self {
        let left = instruction.modifiers.iter().map(String::as_str).enumerate().collect();
        Self { instruction, left, leading: 0 }
    }

    /// Consumes a modifier. Returns `true` if it was present.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.take_one(|other| (other == name).then_some(())).is_some()
    }

    /// Consumes the first modifier for which `question` returns a value.
    pub(super) fn take_one<T>(&mut self, question: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self.left.iter().position(|(_, name)| question(name).is_some())?;
        question(self.left.remove(found).1)
    }

    /// Consumes the first of these modifiers that is present.
    pub(super) fn take_among(&mut self, names: &[&'static str]) -> Option<&'static str> {
        let found = |name: &str| names.iter().find(|known| **known == name).copied();
        self.take_one(found)
    }

    /// Consumes the first of these modifiers that is present, as part of the instruction's name.
    /// NVIDIA's assembler accepts such a modifier only right after the name or after other
    /// modifiers of this kind. It accepts all other modifiers in any order.
    ///
    /// # Errors
    ///
    /// Fails if such a modifier is in another position.
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

    /// Fails if a modifier has not been consumed.
    pub(super) fn finish(&self) -> Reading<()> {
        let Some((_, name)) = self.left.first() else { return Ok(()) };
        let text = format!("the modifier `.{name}` is not modelled here");
        Err(PtxError::new(self.instruction.line, text))
    }
}

/// Returns the operands. There must be exactly `N`.
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
