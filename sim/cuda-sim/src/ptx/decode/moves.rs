//! `mov`, `cvt`, and conversions between generic addresses and addresses of one state space.

use super::super::convert::Conversion;
use super::super::error::{PtxError, Reading};
use super::super::function::One;
use super::super::op::{
    Kind, LOCAL_WINDOW, PARAMETER_WINDOW, Register, SHARED_WINDOW, from_generic,
};
use super::super::rounding::Round;
use super::super::syntax::{Instruction, Operand};
use super::super::types::{Space, Type};
use super::memory::space_name;
use super::modifiers::{Modifiers, exactly};
use super::{Decoder, unknown};

fn same(bits: u64) -> u64 {
    bits
}

impl Decoder {
    pub(super) fn mov(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let ty = modifiers.take_type()?;
        if !ty.is_of_registers() && ty != Type::Pred {
            return Err(unknown(instruction));
        }
        let [to, a] = exactly(instruction)?;
        let line = instruction.line;
        match (to, a) {
            (Operand::Group(parts), a) => {
                let (parts, bits) = self.parts(parts, ty, line, true)?;
                Ok(Kind::Unpack { parts, bits, a: self.source(a, ty, line)? })
            }
            (to, Operand::Group(parts)) => {
                let (parts, bits) = self.parts(parts, ty, line, false)?;
                Ok(Kind::Pack { to: self.target(to, ty, line)?, parts, bits })
            }
            (to, Operand::Name(name)) if is_clock(name) => {
                Ok(Kind::Clock { to: self.target(to, ty, line)? })
            }
            (to, a) => {
                let to = self.target(to, ty, line)?;
                Ok(Kind::One { function: same, to, a: self.source(a, ty, line)? })
            }
        }
    }

    /// Returns the registers that make up a wider register, and the number of bits in each.
    fn parts(
        &mut self,
        parts: &[Operand],
        ty: Type,
        line: u32,
        written: bool,
    ) -> Reading<(Box<[Register]>, u32)> {
        let part = match (ty.bytes(), parts.len()) {
            (8, 2) => Type::B32,
            (8, 4) | (4, 2) => Type::B16,
            (4, 4) | (2, 2) => Type::B8,
            _ => return Err(PtxError::new(line, "these parts do not make up that type")),
        };
        let mut registers = Vec::new();
        for operand in parts {
            registers.push(if written {
                self.target(operand, part, line)?
            } else {
                self.source(operand, part, line)?
            });
        }
        let bits = u32::try_from(part.bytes() * 8).unwrap_or(0);
        Ok((registers.into(), bits))
    }

    pub(super) fn cvt(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let refused = || unknown(instruction);
        let direction = modifiers.take_one(|name| {
            Some(match name {
                "rn" => (Round::Nearest, false),
                "rz" => (Round::Zero, false),
                "rm" => (Round::Down, false),
                "rp" => (Round::Up, false),
                "rni" => (Round::Nearest, true),
                "rzi" => (Round::Zero, true),
                "rmi" => (Round::Down, true),
                "rpi" => (Round::Up, true),
                _ => return None,
            })
        });
        let (flush, saturate) = (modifiers.take("ftz"), modifiers.take("sat"));
        let (to_type, from) = (modifiers.take_type()?, modifiers.take_type()?);
        if matches!(to_type, Type::F16x2 | Type::Bf16x2) {
            let Some((round @ (Round::Nearest | Round::Zero), false)) = direction else {
                return Err(refused());
            };
            if from != Type::F32 || flush || saturate {
                return Err(refused());
            }
            let [to, upper, lower] = exactly(instruction)?;
            let to = self.target(to, to_type, line)?;
            let (upper, lower) = (self.source(upper, from, line)?, self.source(lower, from, line)?);
            return Ok(Kind::ConvertPair { ty: to_type, round, to, upper, lower });
        }
        if !has_right_direction(to_type, from, direction)
            || (flush && !concerns_single(to_type, from))
            || (saturate && Conversion::is_within(from, to_type))
            || !suits_brain(to_type, from, saturate)
            || !suits_brain(from, to_type, saturate)
        {
            return Err(refused());
        }
        let (round, whole) = direction.unwrap_or((Round::Nearest, false));
        let conversion = Conversion { to: to_type, from, round, whole, flush, saturate };
        let [to, a] = exactly(instruction)?;
        let (to, a) = (self.loose_target(to, to_type, line)?, self.loose_source(a, from, line)?);
        Ok(Kind::Convert { conversion, to, a })
    }

    pub(super) fn cvta(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let to_space = modifiers.take_leading(&["to"])?.is_some();
        let space = modifiers.take_one(Space::from_name).ok_or_else(|| unknown(instruction))?;
        if !modifiers.take("u64") {
            return Err(unknown(instruction));
        }
        let function: One = match (space, to_space) {
            (Space::Shared, false) => |address| address.wrapping_add(SHARED_WINDOW),
            (Space::Shared, true) => |address| address.wrapping_sub(SHARED_WINDOW),
            (Space::Local, false) => |address| address.wrapping_add(LOCAL_WINDOW),
            (Space::Local, true) => |address| address.wrapping_sub(LOCAL_WINDOW),
            (Space::Param, false) => |address| address.wrapping_add(PARAMETER_WINDOW),
            (Space::Param, true) => |address| address.wrapping_sub(PARAMETER_WINDOW),
            _ => same,
        };
        let [to, a] = exactly(instruction)?;
        let line = instruction.line;
        let to = self.target(to, Type::U64, line)?;
        Ok(Kind::One { function, to, a: self.source(a, Type::U64, line)? })
    }

    pub(super) fn isspacep(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let space = modifiers.take_one(space_name).ok_or_else(|| unknown(instruction))?;
        let function: One = match space {
            Space::Shared => |address| u64::from(from_generic(address).0 == Space::Shared),
            Space::Local => |address| u64::from(from_generic(address).0 == Space::Local),
            Space::Param => |address| u64::from(from_generic(address).0 == Space::Param),
            Space::Global => |address| u64::from(from_generic(address).0 == Space::Global),
            Space::Const | Space::Generic => return Err(unknown(instruction)),
        };
        let [to, a] = exactly(instruction)?;
        let line = instruction.line;
        let to = self.target(to, Type::Pred, line)?;
        Ok(Kind::One { function, to, a: self.source(a, Type::U64, line)? })
    }
}

fn is_clock(name: &str) -> bool {
    matches!(name, "%clock" | "%clock64" | "%globaltimer" | "%clock_hi" | "%globaltimer_lo")
}

fn concerns_single(to: Type, from: Type) -> bool {
    to == Type::F32 || from == Type::F32
}

/// Returns `true` if a conversion between `.bf16` and the other type exists. These conversions
/// never saturate and never involve 8-bit types.
fn suits_brain(ty: Type, other: Type, saturates: bool) -> bool {
    ty != Type::Bf16 || !(saturates || other.bytes() == 1)
}

/// Returns `true` if a conversion names a rounding direction when one is required, and names none
/// when none is allowed.
fn has_right_direction(to: Type, from: Type, direction: Option<(Round, bool)>) -> bool {
    let known = |ty: Type| !matches!(ty, Type::Pred | Type::F16x2 | Type::Bf16x2);
    let plain_bits = |ty: Type| matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64);
    if !known(to) || !known(from) || plain_bits(to) || plain_bits(from) {
        return false;
    }
    match (from.is_float(), to.is_float(), direction) {
        (false, false, direction) => direction.is_none(),
        (false, true, direction) => matches!(direction, Some((_, false))),
        (true, false, direction) => matches!(direction, Some((_, true))),
        (true, true, Some((_, true))) => to == from,
        // Each of the two 16-bit formats has numbers that the other cannot represent.
        (true, true, Some((_, false))) => {
            to.bytes() < from.bytes() || (to.bytes() == from.bytes() && to != from)
        }
        (true, true, None) => to.bytes() > from.bytes() || to == from,
    }
}
