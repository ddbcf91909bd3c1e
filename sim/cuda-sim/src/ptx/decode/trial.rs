//! Decodes single instructions for tests of the decoder. Registers of every type are declared.

use std::collections::HashMap;

use super::super::error::Reading;
use super::super::syntax::Instruction;
use super::super::types::Type;
use super::names::Symbol;
use super::{Decoder, Frame};

/// Registers of each type, a label `L`, a list of labels `T` and a function `F`.
pub(in crate::ptx) struct Trial(Decoder);

impl Trial {
    pub(in crate::ptx) fn new() -> Self {
        let mut decoder = Decoder::new(&HashMap::new());
        decoder.in_entry = true;
        for (letter, ty) in [
            ('p', Type::Pred),
            ('h', Type::B16),
            ('r', Type::B32),
            ('l', Type::B64),
            ('f', Type::F32),
            ('d', Type::F64),
        ] {
            for index in 0..16 {
                let register = decoder.new_register();
                decoder.declare(&format!("%{letter}{index}"), Symbol::Register(register, ty));
            }
        }
        decoder.labels.insert("L".to_owned(), 0);
        decoder.targets.insert("T".to_owned(), vec!["L".to_owned()]);
        decoder.frames.insert("F".to_owned(), Frame::default());
        Self(decoder)
    }

    /// Decodes an instruction, and returns the same errors as in a kernel.
    pub(in crate::ptx) fn decode(&mut self, instruction: &Instruction) -> Reading<()> {
        let kind = self.0.instruction(instruction);
        let kind = kind.map_err(|error| error.of(&instruction.name, &instruction.modifiers));
        kind.map(drop)
    }
}
