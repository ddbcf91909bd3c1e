//! Modifiers: each is looked up and checked, and none is left over.

use super::super::error::{PtxError, Reading};
use super::super::syntax::{Instruction, Operand};
use super::super::types::Type;

/// The modifiers of an instruction that were not looked at yet.
pub(super) struct Modifiers<'a> {
    instruction: &'a Instruction,
    /// With their places.
    left: Vec<(usize, &'a str)>,
    /// How many of those that were looked at belong to the instruction's name.
    leading: usize,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(instruction: &'a Instruction) -> Self {
        let left = instruction.modifiers.iter().map(String::as_str).enumerate().collect();
        Self { instruction, left, leading: 0 }
    }

    /// Whether it is there; it is looked at then.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.take_one(|other| (other == name).then_some(())).is_some()
    }

    /// The first that the question knows.
    pub(super) fn take_one<T>(&mut self, question: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self.left.iter().position(|(_, name)| question(name).is_some())?;
        question(self.left.remove(found).1)
    }

    /// The first of these that is there.
    pub(super) fn take_among(&mut self, names: &[&'static str]) -> Option<&'static str> {
        let found = |name: &str| names.iter().find(|known| **known == name).copied();
        self.take_one(found)
    }

    /// The first of these that is there, which belongs to the instruction's name: NVIDIA's assembler knows it directly
    /// behind that, and behind others of this sort, alone. It takes all other modifiers in any order.
    ///
    /// # Errors
    ///
    /// One that stands elsewhere.
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

    /// Nothing that nobody knows is left.
    pub(super) fn finish(&self) -> Reading<()> {
        let Some((_, name)) = self.left.first() else { return Ok(()) };
        let text = format!("the modifier `.{name}` is not modelled here");
        Err(PtxError::new(self.instruction.line, text))
    }
}

/// Exactly so many operands.
pub(super) fn exactly<const N: usize>(instruction: &Instruction) -> Reading<&[Operand; N]> {
    instruction.operands.as_slice().try_into().map_err(|_| {
        let count = instruction.operands.len();
        PtxError::new(instruction.line, format!("{count} operands where {N} belong"))
    })
}

/// An instruction that is not modelled.
pub(super) fn unknown(instruction: &Instruction) -> PtxError {
    PtxError::new(instruction.line, "not modelled").of(&instruction.name, &instruction.modifiers)
}
