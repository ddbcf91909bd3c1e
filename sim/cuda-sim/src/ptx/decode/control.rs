//! Branches, calls, exits, fences and barriers.

use super::super::error::{PtxError, Reading};
use super::super::op::{AssertFail, BarrierVote, Call, Kind, Print, Question};
use super::super::syntax::{Instruction, Operand};
use super::super::types::Type;
use super::modifiers::{Modifiers, exactly};
use super::{Decoder, moves, names, unknown};

impl Decoder {
    fn label(&self, name: &str, line: u32) -> Reading<usize> {
        let found = self.labels.get(name).copied();
        found.ok_or_else(|| PtxError::new(line, format!("there is no label `{name}`")))
    }

    pub(super) fn branch(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let indexed = modifiers.take_leading(&["idx"])?.is_some();
        modifiers.take("uni");
        if indexed != (instruction.name == "brx") {
            return Err(unknown(instruction));
        }
        if !indexed {
            let [target] = exactly(instruction)?;
            let Operand::Name(name) = target else {
                return Err(PtxError::new(line, "a branch leads to a label"));
            };
            return Ok(Kind::Branch { to: self.label(name, line)? });
        }
        let [index, list] = exactly(instruction)?;
        let index = self.source(index, Type::U32, line)?;
        let labels = match list {
            Operand::Name(name) => self.targets.get(name),
            _ => None,
        };
        let labels =
            labels.ok_or_else(|| PtxError::new(line, "the list of labels does not exist"))?;
        let targets: Reading<Vec<usize>> =
            labels.iter().map(|name| self.label(name, line)).collect();
        Ok(Kind::BranchIndexed { index, targets: targets?.into() })
    }

    pub(super) fn call(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        modifiers.take("uni");
        let (results, rest) = match instruction.operands.as_slice() {
            [Operand::List(results), rest @ ..] => (results.as_slice(), rest),
            rest => (&[][..], rest),
        };
        let arguments = match rest {
            [Operand::Name(_)] => &[][..],
            [Operand::Name(_), Operand::List(arguments)] => arguments.as_slice(),
            _ => return Err(unknown(instruction)),
        };
        let callee = names::callee(instruction).unwrap_or_default();
        if callee == names::ASSERT_FAIL {
            return self.assert_fail(results, arguments, line);
        }
        if callee == names::PRINT {
            return self.print(results, arguments, line);
        }
        let frame = self.frames.get(callee).cloned().ok_or_else(|| unknown(instruction))?;
        let passed = self.passed(arguments, &frame.parameters, line)?;
        let returned = self.passed(results, &frame.results, line)?;
        Ok(Kind::Call(Box::new(Call {
            target: frame.start,
            arguments: moves(&passed, &frame.parameters, line)?,
            results: moves(&frame.results, &returned, line)?,
        })))
    }

    /// Decodes a call of the driver function that reports failed assertions. Its arguments are
    /// addresses of texts, the line, and the size of a character.
    fn assert_fail(&self, results: &[Operand], arguments: &[Operand], line: u32) -> Reading<Kind> {
        let sizes = [8, 8, 4, 8, 8];
        let places = arguments.iter().zip(sizes);
        let places = places.map(|(argument, bytes)| self.argument(argument, bytes, line));
        let places = places.collect::<Reading<Vec<_>>>()?;
        let ([], [message, file, line_number, function, _size], true) =
            (results, &*places, arguments.len() == sizes.len())
        else {
            let text = format!("`{}` has five parameters and no result", names::ASSERT_FAIL);
            return Err(PtxError::new(line, text));
        };
        let [message, file, function] = [*message, *file, *function];
        Ok(Kind::AssertFail(Box::new(AssertFail { message, file, line: *line_number, function })))
    }

    /// Decodes a call of the driver function that prints. Its parameters are the address of the
    /// format and the address of the arguments; it returns the number of printed arguments.
    fn print(&self, results: &[Operand], arguments: &[Operand], line: u32) -> Reading<Kind> {
        let ([result], [format, arguments]) = (results, arguments) else {
            let text = format!("`{}` has two parameters and a result", names::PRINT);
            return Err(PtxError::new(line, text));
        };
        let place = |operand, bytes| self.argument(operand, bytes, line);
        let (format, arguments) = (place(format, 8)?, place(arguments, 8)?);
        Ok(Kind::Print(Box::new(Print { format, arguments, result: place(result, 4)? })))
    }

    /// Returns the positions of a call's parameters in memory, with the sizes that the function
    /// declares.
    fn passed(
        &self,
        operands: &[Operand],
        formal: &[(usize, usize)],
        line: u32,
    ) -> Reading<Vec<(usize, usize)>> {
        if operands.len() != formal.len() {
            return Err(PtxError::new(line, "another number of arguments than parameters"));
        }
        let pairs = operands.iter().zip(formal);
        pairs
            .map(|(operand, formal)| Ok((self.argument(operand, formal.1, line)?, formal.1)))
            .collect()
    }

    /// Decodes instructions whose operands have no effect in the simulator.
    pub(super) fn plain(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let kind = match instruction.name.as_str() {
            "ret" => {
                modifiers.take("uni");
                if self.in_entry { Kind::Exit } else { Kind::Return }
            }
            "exit" => Kind::Exit,
            "trap" => Kind::Trap,
            "membar" => {
                let level = modifiers.take_among(&["cta", "gl", "sys"]);
                level.map(|_| Kind::Fence).ok_or_else(|| unknown(instruction))?
            }
            "fence" => {
                modifiers.take_among(&["sc", "acq_rel"]);
                let scope = modifiers.take_among(&["cta", "cluster", "gpu", "sys"]);
                scope.map(|_| Kind::Fence).ok_or_else(|| unknown(instruction))?
            }
            "griddepcontrol" => {
                let wait = modifiers.take_among(&["wait", "launch_dependents"]);
                self.waits_for_dependency |= wait == Some("wait");
                wait.map(|_| Kind::Nothing).ok_or_else(|| unknown(instruction))?
            }
            // These are hints and pauses. Their operands are resolved but not used.
            "nanosleep" if modifiers.take("u32") => {
                let [time] = exactly(instruction)?;
                self.source(time, Type::U32, instruction.line)?;
                return Ok(Kind::Nothing);
            }
            "prefetch" => {
                modifiers.take_among(&["global", "local"]);
                let level = modifiers.take_among(&["L1", "L2"]);
                exactly::<1>(instruction)?;
                return level.map(|_| Kind::Nothing).ok_or_else(|| unknown(instruction));
            }
            _ => return Err(unknown(instruction)),
        };
        exactly::<0>(instruction)?;
        Ok(kind)
    }

    pub(super) fn barrier(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        if instruction.name == "bar" && modifiers.take_leading(&["warp"])?.is_some() {
            let [mask] = exactly(instruction)?;
            let mask = self.source(mask, Type::B32, line)?;
            return if modifiers.take("sync") {
                Ok(Kind::WarpBarrier { mask })
            } else {
                Err(unknown(instruction))
            };
        }
        modifiers.take_leading(&["cta"])?;
        // `bar` is aligned by default.
        if instruction.name == "barrier" {
            modifiers.take("aligned");
        }
        if modifiers.take_leading(&["red"])?.is_some() {
            let question = modifiers.take_one(|name| {
                Some(match name {
                    "popc" => Question::Count,
                    "and" => Question::All,
                    "or" => Question::Any,
                    _ => return None,
                })
            });
            let question = question.ok_or_else(|| unknown(instruction))?;
            let ty = modifiers.take_type()?;
            let wanted = if question == Question::Count { Type::U32 } else { Type::Pred };
            let [to, id, of] = exactly(instruction)?;
            if ty != wanted {
                return Err(unknown(instruction));
            }
            let to = self.target(to, ty, line)?;
            let of = self.predicate(of, line)?;
            let votes = Some(BarrierVote { question, of, to });
            return Ok(Kind::Barrier { id: self.source(id, Type::U32, line)?, votes });
        }
        if !modifiers.take("sync") {
            return Err(unknown(instruction));
        }
        // A barrier for some threads of the block also has a count, which is not modelled.
        let [id] = exactly(instruction)?;
        Ok(Kind::Barrier { id: self.source(id, Type::U32, line)?, votes: None })
    }
}
