//! Instructions of several threads of a warp.

use super::super::error::Reading;
use super::super::integer;
use super::super::op::{Kind, Question, Shuffle, ShuffleMode, Vote};
use super::super::syntax::Instruction;
use super::super::types::Type;
use super::modifiers::{Modifiers, exactly};
use super::{Decoder, unknown};

impl Decoder {
    pub(super) fn shuffle(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let mode = modifiers.take_one(|name| {
            Some(match name {
                "up" => ShuffleMode::Up,
                "down" => ShuffleMode::Down,
                "bfly" => ShuffleMode::Butterfly,
                "idx" => ShuffleMode::Index,
                _ => return None,
            })
        });
        let synchronises = modifiers.take("sync") && modifiers.take("b32");
        let mode = mode.filter(|_| synchronises).ok_or_else(|| unknown(instruction))?;
        let [to, a, b, c, mask] = exactly(instruction)?;
        let (to, inside) = self.targets(to, Type::B32, line)?;
        let mut source = |operand| self.source(operand, Type::B32, line);
        let (a, b, c, mask) = (source(a)?, source(b)?, source(c)?, source(mask)?);
        Ok(Kind::Shuffle(Box::new(Shuffle { mode, to, inside, a, b, c, mask })))
    }

    pub(super) fn vote(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let question = modifiers.take_one(|name| {
            Some(match name {
                "all" => Question::All,
                "any" => Question::Any,
                "uni" => Question::Uniform,
                "ballot" => Question::Ballot,
                _ => return None,
            })
        });
        let synchronises = modifiers.take("sync");
        let question = question.filter(|_| synchronises).ok_or_else(|| unknown(instruction))?;
        let ty = modifiers.take_type()?;
        let wanted = if question == Question::Ballot { Type::B32 } else { Type::Pred };
        if ty != wanted {
            return Err(unknown(instruction));
        }
        let [to, of, mask] = exactly(instruction)?;
        let to = self.target(to, ty, line)?;
        let of = self.predicate(of, line)?;
        let mask = self.source(mask, Type::B32, line)?;
        Ok(Kind::Vote(Box::new(Vote { question, of, to, mask })))
    }

    pub(super) fn matching(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let all = modifiers.take_among(&["all", "any"]).ok_or_else(|| unknown(instruction))?;
        let synchronises = modifiers.take("sync");
        let ty = modifiers.take_type()?;
        if !synchronises || !matches!(ty, Type::B32 | Type::B64) {
            return Err(unknown(instruction));
        }
        let [to, a, mask] = exactly(instruction)?;
        let (to, agrees) = self.targets(to, Type::B32, line)?;
        let (a, mask) = (self.source(a, ty, line)?, self.source(mask, Type::B32, line)?);
        Ok(Kind::Match { all: all == "all", wide: ty == Type::B64, to, agrees, a, mask })
    }

    pub(super) fn reduce(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let name = modifiers.take_among(&["add", "min", "max", "and", "or", "xor"]);
        let synchronises = modifiers.take("sync");
        let name = name.filter(|_| synchronises).ok_or_else(|| unknown(instruction))?;
        let ty = modifiers.take_type()?;
        let function = match ty {
            Type::U32 | Type::S32 => integer::binary(name, ty),
            Type::B32 => integer::logic(name),
            _ => None,
        };
        let function = function.ok_or_else(|| unknown(instruction))?;
        let [to, a, mask] = exactly(instruction)?;
        let to = self.target(to, ty, line)?;
        let (a, mask) = (self.source(a, ty, line)?, self.source(mask, Type::B32, line)?);
        Ok(Kind::Reduce { function, to, a, mask })
    }

    pub(super) fn active_mask(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let [to] = exactly(instruction)?;
        if !modifiers.take("b32") {
            return Err(unknown(instruction));
        }
        Ok(Kind::ActiveMask { to: self.target(to, Type::B32, instruction.line)? })
    }
}
