//! Additions and subtractions with a carry, and dot products of small integers.

use super::super::carry;
use super::super::dot;
use super::super::error::Reading;
use super::super::op::{Carry, Kind};
use super::super::syntax::Instruction;
use super::super::types::Type;
use super::modifiers::{Modifiers, exactly};
use super::{Decoder, unknown};

impl Decoder {
    /// `add.cc`, `addc`, `addc.cc` and the same forms of `sub` and `mad`. The caller has already
    /// consumed the `.cc`.
    pub(super) fn carried(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
        leaves: bool,
    ) -> Reading<Kind> {
        let refused = || unknown(instruction);
        let (name, takes) = match instruction.name.as_str() {
            "addc" => ("add", true),
            "subc" => ("sub", true),
            "madc" => ("mad", true),
            name => (name, false),
        };
        let half = modifiers.take_leading(&["lo", "hi"])?;
        let ty = modifiers.take_type()?;
        let function = carry::function(name, half, ty).ok_or_else(refused)?;
        let line = instruction.line;
        let none = self.constant(0);
        let (to, sources) = if name == "mad" {
            let [to, a, b, c] = exactly(instruction)?;
            let c = self.source(c, ty, line)?;
            (to, [self.source(a, ty, line)?, self.source(b, ty, line)?, c])
        } else {
            let [to, a, b] = exactly(instruction)?;
            (to, [self.source(a, ty, line)?, self.source(b, ty, line)?, none])
        };
        let to = self.target(to, ty, line)?;
        let carry = if takes { self.carry } else { none };
        let out = leaves.then_some(self.carry);
        Ok(Kind::Carry(Box::new(Carry { function, to, sources, carry, out })))
    }

    /// `dp4a` and `dp2a`.
    pub(super) fn dot(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let half = modifiers.take_leading(&["lo", "hi"])?;
        let (first, second) = (modifiers.take_type()?, modifiers.take_type()?);
        let is_word = |ty| matches!(ty, Type::U32 | Type::S32);
        let signs = (first.is_signed(), second.is_signed());
        let function = match (instruction.name.as_str(), half) {
            _ if !is_word(first) || !is_word(second) => return Err(unknown(instruction)),
            ("dp4a", None) => dot::of_four(signs),
            ("dp2a", Some(half)) => dot::of_two(signs, half == "hi"),
            _ => return Err(unknown(instruction)),
        };
        let result = if signs == (false, false) { Type::U32 } else { Type::S32 };
        self.three(instruction, [result, first, second, result], function)
    }
}
