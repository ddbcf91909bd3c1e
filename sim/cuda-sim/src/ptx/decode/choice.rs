//! Comparisons, and selections that depend on them.

use super::super::compare;
use super::super::error::{PtxError, Reading};
use super::super::float;
use super::super::function::Three;
use super::super::integer;
use super::super::op::{Compare, ComparePair, Kind};
use super::super::syntax::Instruction;
use super::super::types::Type;
use super::modifiers::{Modifiers, exactly};
use super::{Decoder, unknown};

impl Decoder {
    pub(super) fn compare(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let refused = || unknown(instruction);
        let name = modifiers.take_one(|name| compare::is_name(name).then(|| name.to_owned()));
        let name = name.ok_or_else(refused)?;
        let combine = modifiers.take_among(&["and", "or", "xor"]);
        let flush = modifiers.take("ftz");
        let is_set = instruction.name == "set";
        let result = if is_set { modifiers.take_type()? } else { Type::Pred };
        let truth = match result {
            Type::Pred => 1,
            Type::U32 | Type::S32 => 0xFFFF_FFFF,
            Type::F32 => u64::from(1_f32.to_bits()),
            Type::F16 | Type::F16x2 => u64::from(half::f16::ONE.to_bits()),
            Type::Bf16 | Type::Bf16x2 => u64::from(half::bf16::ONE.to_bits()),
            Type::U16 | Type::S16 => 0xFFFF,
            _ => return Err(refused()),
        };
        let ty = modifiers.take_type()?;
        if matches!(ty, Type::F16x2 | Type::Bf16x2) && is_set && combine.is_none() && !flush {
            return self.compare_pair(instruction, &name, result, ty, truth);
        }
        let is_pair = matches!(result, Type::F16x2 | Type::Bf16x2);
        let of_short = matches!(ty, Type::F16 | Type::Bf16);
        // A comparison of 16-bit floats cannot produce `.f32`, and only such a comparison can
        // produce 16-bit words.
        let fits = match result {
            Type::U16 | Type::S16 => of_short,
            Type::F32 => !of_short,
            Type::F16 | Type::Bf16 => !of_short || ty == result,
            _ => !is_pair,
        };
        if !fits {
            return Err(refused());
        }
        if flush && (ty != Type::F32 || result == Type::Bf16) {
            return Err(refused());
        }
        let test = compare::test(&name, ty, flush).ok_or_else(refused)?;
        let wanted = 3 + usize::from(combine.is_some());
        let operands = &instruction.operands;
        if operands.len() != wanted {
            let text = format!("{} operands where {wanted} belong", operands.len());
            return Err(PtxError::new(line, text));
        }
        let (to, other) = self.targets(&operands[0], result, line)?;
        if other.is_some() && (is_set || of_short) {
            return Err(PtxError::new(line, "a second result where there is one"));
        }
        let (a, b) = (self.source(&operands[1], ty, line)?, self.source(&operands[2], ty, line)?);
        let combine = match combine {
            Some(name) => {
                let function = integer::logic(name).ok_or_else(refused)?;
                Some((function, self.predicate(&operands[3], line)?))
            }
            None => None,
        };
        Ok(Kind::Compare(Box::new(Compare { test, a, b, combine, to, truth, other })))
    }

    /// `set` for two pairs. Each half of the result is a number or, for an integer result type, has
    /// all bits set or none.
    fn compare_pair(
        &mut self,
        instruction: &Instruction,
        name: &str,
        result: Type,
        ty: Type,
        truth: u64,
    ) -> Reading<Kind> {
        let refused = || unknown(instruction);
        let truth = match result {
            Type::U32 | Type::S32 => 0xFFFF,
            own if own == ty => truth,
            _ => return Err(refused()),
        };
        let half = if ty == Type::F16x2 { Type::F16 } else { Type::Bf16 };
        let test = compare::test(name, half, false).ok_or_else(refused)?;
        let [to, a, b] = exactly(instruction)?;
        let line = instruction.line;
        let to = self.target(to, result, line)?;
        let (a, b) = (self.source(a, ty, line)?, self.source(b, ty, line)?);
        Ok(Kind::ComparePair(Box::new(ComparePair { test, a, b, to, truth })))
    }

    pub(super) fn selp(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let ty = modifiers.take_type()?;
        if !ty.is_of_registers() {
            return Err(unknown(instruction));
        }
        let [to, a, b, by] = exactly(instruction)?;
        let line = instruction.line;
        let to = self.target(to, ty, line)?;
        let (a, b) = (self.source(a, ty, line)?, self.source(b, ty, line)?);
        Ok(Kind::Select { to, a, b, by: self.predicate(by, line)? })
    }

    /// Selects one of two operands by the sign of a third operand.
    pub(super) fn slct(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let flush = modifiers.take("ftz");
        let (ty, by) = (modifiers.take_type()?, modifiers.take_type()?);
        let function: Three = match by {
            Type::S32 if !flush => |a, b, c| if c & 1 << 31 == 0 { a } else { b },
            Type::F32 if flush => |a, b, c| if float::single(c, true) >= 0.0 { a } else { b },
            Type::F32 => |a, b, c| if float::single(c, false) >= 0.0 { a } else { b },
            _ => return Err(unknown(instruction)),
        };
        if !ty.is_of_registers() {
            return Err(unknown(instruction));
        }
        self.three(instruction, [ty, ty, ty, by], function)
    }
}
