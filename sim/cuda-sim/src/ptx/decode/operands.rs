//! Resolves and checks operands.

use super::super::error::{PtxError, Reading};
use super::super::number::low_bits;
use super::super::op::{Guard, Place, Register, Special};
use super::super::syntax::Operand;
use super::super::types::{Space, Type};
use super::Decoder;
use super::names::Symbol;

/// The number of threads in a warp.
const LANES: u64 = 32;

impl Decoder {
    fn find(&self, name: &str) -> Option<Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// Returns the register that holds a constant.
    pub(super) fn constant(&mut self, bits: u64) -> Register {
        if let Some(register) = self.constants.get(&bits) {
            return *register;
        }
        let register = self.new_register();
        self.constants.insert(bits, register);
        register
    }

    /// Resolves an operand that is read with a type. Its register must have the same width.
    pub(super) fn source(&mut self, operand: &Operand, ty: Type, line: u32) -> Reading<Register> {
        self.read(operand, ty, line, |bytes| bytes == ty.bytes())
    }

    /// Resolves a source operand whose register may be wider, as loads, stores and conversions
    /// allow.
    pub(super) fn loose_source(
        &mut self,
        operand: &Operand,
        ty: Type,
        line: u32,
    ) -> Reading<Register> {
        self.read(operand, ty, line, |bytes| bytes >= ty.bytes())
    }

    fn read(
        &mut self,
        operand: &Operand,
        ty: Type,
        line: u32,
        fits: impl Fn(usize) -> bool,
    ) -> Reading<Register> {
        match operand {
            Operand::Name(name) => match self.find(name) {
                Some(Symbol::Register(register, own)) => {
                    if fits(own.bytes()) && (own == Type::Pred) == (ty == Type::Pred) {
                        return Ok(register);
                    }
                    let text = format!("`{name}` is a {own:?}, read as {ty:?}");
                    Err(PtxError::new(line, text))
                }
                Some(symbol) => Ok(self.constant(address_of(symbol))),
                // The only constant that has a name in PTX.
                None if name == "WARP_SZ" => Ok(self.constant(LANES)),
                None => self.special(name, line),
            },
            Operand::Integer(value) => Ok(self.constant(low_bits(*value))),
            Operand::Float32(_) | Operand::Float64(_) => {
                let bits = float_bits(operand, ty)
                    .ok_or_else(|| PtxError::new(line, format!("no constant of type {ty:?}")))?;
                Ok(self.constant(bits))
            }
            Operand::Address { base: Some(base), offset } => match self.find(base) {
                Some(Symbol::Register(..)) | None => {
                    Err(PtxError::new(line, "only a variable may have a distance here"))
                }
                Some(symbol) => Ok(self.constant(address_of(symbol).wrapping_add_signed(*offset))),
            },
            _ => Err(PtxError::new(line, "no operand to read")),
        }
    }

    fn special(&mut self, name: &str, line: u32) -> Reading<Register> {
        let special = special(name).ok_or_else(|| {
            PtxError::new(line, format!("`{name}` is not declared, or not modelled"))
        })?;
        if let Some(register) = self.specials.get(&special) {
            return Ok(*register);
        }
        let register = self.new_register();
        self.specials.insert(special, register);
        Ok(register)
    }

    /// Resolves a register that is written with a type.
    pub(super) fn target(&mut self, operand: &Operand, ty: Type, line: u32) -> Reading<Register> {
        self.write(operand, ty, line, |bytes| bytes == ty.bytes())
    }

    /// Resolves a target register that may be wider than its type.
    pub(super) fn loose_target(
        &mut self,
        operand: &Operand,
        ty: Type,
        line: u32,
    ) -> Reading<Register> {
        self.write(operand, ty, line, |bytes| bytes >= ty.bytes())
    }

    fn write(
        &mut self,
        operand: &Operand,
        ty: Type,
        line: u32,
        fits: impl Fn(usize) -> bool,
    ) -> Reading<Register> {
        let Operand::Name(name) = operand else {
            return Err(PtxError::new(line, "a result goes to a register"));
        };
        if name == "_" {
            return Ok(self.sink);
        }
        match self.find(name) {
            Some(Symbol::Register(register, own))
                if fits(own.bytes()) && (own == Type::Pred) == (ty == Type::Pred) =>
            {
                Ok(register)
            }
            Some(Symbol::Register(_, own)) => {
                Err(PtxError::new(line, format!("`{name}` is a {own:?}, written as {ty:?}")))
            }
            _ => Err(PtxError::new(line, format!("`{name}` is no register"))),
        }
    }

    pub(super) fn predicate_register(&mut self, name: &str, line: u32) -> Reading<Register> {
        self.source(&Operand::Name(name.to_owned()), Type::Pred, line)
    }

    /// Resolves a predicate, which may be negated.
    pub(super) fn predicate(&mut self, operand: &Operand, line: u32) -> Reading<Guard> {
        match operand {
            Operand::Not(name) => {
                Ok(Guard { register: self.predicate_register(name, line)?, negated: true })
            }
            other => Ok(Guard { register: self.source(other, Type::Pred, line)?, negated: false }),
        }
    }

    /// Resolves an address in a state space. Parameters of functions are stored in the thread's
    /// local memory.
    pub(super) fn place(
        &mut self,
        operand: &Operand,
        space: Space,
        line: u32,
    ) -> Reading<(Space, Place)> {
        let (name, offset) = match operand {
            Operand::Address { base, offset } => (base.as_deref(), *offset),
            _ => return Err(PtxError::new(line, "an address was expected")),
        };
        let Some(name) = name else {
            return Ok((space, Place { base: None, wide: true, offset }));
        };
        let symbol = self.find(name);
        let symbol =
            symbol.ok_or_else(|| PtxError::new(line, format!("`{name}` is not declared")))?;
        let found = match symbol {
            Symbol::Register(register, ty) => {
                if !matches!(ty.bytes(), 4 | 8) {
                    return Err(PtxError::new(line, format!("`{name}` cannot hold an address")));
                }
                let own =
                    if space == Space::Param && !self.in_entry { Space::Local } else { space };
                return Ok((own, Place { base: Some(register), wide: ty.bytes() == 8, offset }));
            }
            Symbol::Global(_) => Space::Global,
            Symbol::Shared(_) => Space::Shared,
            Symbol::Local(..) => Space::Local,
            Symbol::Parameter(_) => Space::Param,
        };
        let fits = match space {
            Space::Generic => matches!(found, Space::Global),
            Space::Global | Space::Const => found == Space::Global,
            // This covers call arguments and the parameters of a function.
            Space::Param => matches!(found, Space::Param | Space::Local),
            own => own == found,
        };
        if !fits {
            return Err(PtxError::new(line, format!("`{name}` is not in that space")));
        }
        let start = i64::from_ne_bytes(address_of(symbol).to_ne_bytes());
        Ok((found, Place { base: None, wide: true, offset: start.wrapping_add(offset) }))
    }

    /// Resolves a call parameter, which is stored in the thread's memory. The callee declares it
    /// with `bytes` bytes.
    pub(super) fn argument(&self, operand: &Operand, bytes: usize, line: u32) -> Reading<usize> {
        match operand {
            Operand::Name(name) => match self.find(name) {
                Some(Symbol::Local(offset, own)) if own >= bytes => Ok(offset),
                Some(Symbol::Local(_, own)) => {
                    let text = format!("`{name}` has {own} bytes, and the callee's has {bytes}");
                    Err(PtxError::new(line, text))
                }
                _ => Err(PtxError::new(line, format!("`{name}` is no parameter of a call"))),
            },
            _ => Err(PtxError::new(line, "arguments are parameters that were declared")),
        }
    }

    /// Resolves the results of a comparison or a shuffle: one register, and a second one if
    /// present.
    pub(super) fn targets(
        &mut self,
        operand: &Operand,
        ty: Type,
        line: u32,
    ) -> Reading<(Register, Option<Register>)> {
        match operand {
            Operand::Both(first, second) => {
                let first = self.target(&Operand::Name(first.clone()), ty, line)?;
                let second = self.target(&Operand::Name(second.clone()), Type::Pred, line)?;
                Ok((first, Some(second)))
            }
            other => Ok((self.target(other, ty, line)?, None)),
        }
    }
}

fn address_of(symbol: Symbol) -> u64 {
    match symbol {
        Symbol::Global(address) => address,
        Symbol::Shared(offset) | Symbol::Local(offset, _) | Symbol::Parameter(offset) => {
            offset as u64
        }
        Symbol::Register(..) => 0,
    }
}

fn float_bits(operand: &Operand, ty: Type) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "compilers treat such a constant the same way"
    )]
    let narrow = |bits: u64| u64::from((f64::from_bits(bits) as f32).to_bits());
    match (operand, ty) {
        (Operand::Float32(bits), Type::F32 | Type::B32) => Some(u64::from(*bits)),
        (Operand::Float32(bits), Type::F64) => Some(f64::from(f32::from_bits(*bits)).to_bits()),
        (Operand::Float64(bits), Type::F64 | Type::B64) => Some(*bits),
        (Operand::Float64(bits), Type::F32) => Some(narrow(*bits)),
        _ => None,
    }
}

fn special(name: &str) -> Option<Special> {
    let axis = |rest: &str| ["x", "y", "z"].iter().position(|axis| *axis == rest);
    if let Some((start, rest)) = name.split_once('.') {
        let axis = axis(rest)?;
        return Some(match start {
            "%tid" => Special::Thread(axis),
            "%ntid" => Special::Threads(axis),
            "%ctaid" => Special::Block(axis),
            "%nctaid" => Special::Blocks(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::Warps,
        "%lanemask_eq" => Special::LanesEqual,
        "%lanemask_lt" => Special::LanesBelow,
        "%lanemask_le" => Special::LanesUpTo,
        "%lanemask_gt" => Special::LanesAbove,
        "%lanemask_ge" => Special::LanesFrom,
        "%smid" | "%gridid" => Special::Zero,
        "%dynamic_smem_size" => Special::DynamicShared,
        "%total_smem_size" => Special::TotalShared,
        _ => return None,
    })
}
