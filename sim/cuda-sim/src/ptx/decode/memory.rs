//! Loads, stores and atomic operations.

use super::super::error::{PtxError, Reading};
use super::super::float::{self, Style};
use super::super::function::Two;
use super::super::integer;
use super::super::op::{Atomic, Change, Kind, Transfer};
use super::super::syntax::{Instruction, Operand};
use super::super::types::{Space, Type};
use super::modifiers::Modifiers;
use super::{Decoder, unknown};

/// Cache eviction and prefetch hints, which the simulator ignores.
const EVICTIONS: [&str; 5] = [
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
];
const PREFETCHES: [&str; 3] = ["L2::64B", "L2::128B", "L2::256B"];
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

impl Decoder {
    pub(super) fn transfer(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let loads = instruction.name != "st";
        let named = modifiers.take_one(space_name);
        let order = order(instruction, modifiers, named)?;
        let orders = matches!(order, Some("acquire" | "release"));
        let count = match modifiers.take_among(&["v2", "v4"]) {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        };
        let ty = modifiers.take_type()?;
        if ty == Type::Pred || ty.is_short() || ty.bytes() * count > 16 {
            return Err(unknown(instruction));
        }
        let [first, second] = super::modifiers::exactly(instruction)?;
        let (address, values) = if loads { (second, first) } else { (first, second) };
        let values = match values {
            Operand::Group(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        if values.len() != count {
            return Err(PtxError::new(
                line,
                format!("{} values where {count} belong", values.len()),
            ));
        }
        let mut registers = Vec::new();
        for value in values {
            registers.push(if loads {
                self.loose_target(value, ty, line)?
            } else {
                self.loose_source(value, ty, line)?
            });
        }
        let (space, place) = self.place(address, named.unwrap_or(Space::Generic), line)?;
        if !loads && matches!(space, Space::Param | Space::Const) {
            return Err(PtxError::new(line, "nothing can be stored there"));
        }
        let transfer = Transfer {
            space,
            place,
            bytes: ty.bytes(),
            signed: ty.is_signed(),
            registers,
            strong: order.is_some(),
            orders,
        };
        Ok(if loads { Kind::Load(Box::new(transfer)) } else { Kind::Store(Box::new(transfer)) })
    }

    pub(super) fn atomic(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let refused = || unknown(instruction);
        let returns = instruction.name == "atom";
        let named = modifiers.take_one(space_name).unwrap_or(Space::Generic);
        let order = modifiers.take_among(match returns {
            true => &["relaxed", "acquire", "release", "acq_rel"],
            false => &["relaxed", "release"],
        });
        modifiers.take_among(&SCOPES);
        let name = modifiers
            .take_among(&["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"]);
        let name = name.ok_or_else(refused)?;
        let unflushed = modifiers.take("noftz");
        let ty = modifiers.take_type()?;
        let change = change(name, ty, named, unflushed).ok_or_else(refused)?;
        if !matches!(named, Space::Generic | Space::Global | Space::Shared)
            || (!returns && matches!(name, "exch" | "cas"))
        {
            return Err(refused());
        }
        let skipped = usize::from(returns);
        let wanted = skipped + 2 + usize::from(name == "cas");
        let operands = &instruction.operands;
        if operands.len() != wanted {
            let text = format!("{} operands where {wanted} belong", operands.len());
            return Err(PtxError::new(line, text));
        }
        let to = if returns { Some(self.target(&operands[0], ty, line)?) } else { None };
        let (space, place) = self.place(&operands[skipped], named, line)?;
        let a = self.source(&operands[skipped + 1], ty, line)?;
        let b = match operands.get(skipped + 2) {
            Some(operand) => self.source(operand, ty, line)?,
            None => a,
        };
        let orders = order.is_some_and(|order| order != "relaxed");
        let (bytes, signed) = (ty.bytes(), ty.is_signed());
        Ok(Kind::Atomic(Box::new(Atomic { space, place, bytes, signed, change, to, a, b, orders })))
    }
}

/// Parses a state space. Shared memory may be qualified as belonging to the block.
pub(super) fn space_name(name: &str) -> Option<Space> {
    Space::from_name(if name == "shared::cta" { "shared" } else { name })
}

/// Parses the memory order of a load or store. Cache hints are checked and then ignored.
fn order(
    instruction: &Instruction,
    modifiers: &mut Modifiers<'_>,
    named: Option<Space>,
) -> Reading<Option<&'static str>> {
    let name = instruction.name.as_str();
    let order = modifiers.take_among(&["weak", "volatile", "relaxed", "acquire", "release"]);
    let has_scope = modifiers.take_among(&SCOPES).is_some();
    let read_only = modifiers.take("nc");
    let caches: &[&str] = match name {
        "ld" if read_only => &["ca", "cg", "cs"],
        "ld" => &["ca", "cg", "cs", "lu", "cv"],
        "st" => &["wb", "cg", "cs", "wt"],
        _ => &[],
    };
    let cache = modifiers.take_among(caches).is_some();
    let eviction = modifiers.take_among(&EVICTIONS).is_some();
    let prefetch = modifiers.take_among(&PREFETCHES).is_some();
    let is_plain = matches!(order, None | Some("weak"));
    let is_shared = matches!(named, None | Some(Space::Global | Space::Shared));
    let is_global = matches!(named, None | Some(Space::Global));
    let order_fits = match order {
        Some("acquire") => name == "ld",
        Some("release") => name == "st",
        Some(_) => name != "ldu",
        None => name != "ldu" || is_global,
    };
    let scope_fits = has_scope == matches!(order, Some("relaxed" | "acquire" | "release"));
    let space_fits = is_plain || is_shared;
    let nc_fits = !read_only || (name == "ld" && named == Some(Space::Global) && order.is_none());
    let cache_fits = !cache || (is_plain && !eviction);
    let hint_fits = !(eviction || prefetch) || (is_global && is_plain && name != "ldu");
    let prefetch_fits = !prefetch || name == "ld";
    let fits = [order_fits, scope_fits, space_fits, nc_fits, cache_fits, hint_fits, prefetch_fits];
    if fits.contains(&false) {
        return Err(unknown(instruction));
    }
    Ok(order.filter(|order| *order != "weak"))
}

/// Returns the operation of an atomic instruction, or `None` if PTX has no such operation for this
/// type.
fn change(name: &str, ty: Type, space: Space, unflushed: bool) -> Option<Change> {
    let is_short = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
    if unflushed != (name == "add" && is_short) {
        return None;
    }
    let is_word = matches!(ty, Type::B32 | Type::B64);
    let is_number = matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64);
    let function: Two = match name {
        "cas" if is_word || ty == Type::B16 => return Some(Change::IfEqual),
        "exch" if is_word => |_, new| new,
        "inc" if ty == Type::U32 => {
            |old, limit| if old >= limit & 0xFFFF_FFFF { 0 } else { old + 1 }
        }
        "dec" if ty == Type::U32 => |old, limit| {
            let limit = limit & 0xFFFF_FFFF;
            if old == 0 || old > limit { limit } else { old - 1 }
        },
        "and" | "or" | "xor" if is_word => integer::logic(name)?,
        "add" if ty == Type::F32 || ty == Type::F64 || is_short => {
            // Atomic additions in global memory flush subnormal numbers to zero.
            let flush = ty == Type::F32 && space != Space::Shared;
            float::binary(name, ty, Style { flush, saturate: false })?
        }
        "add" if is_number && ty != Type::S64 => integer::binary(name, ty)?,
        "min" | "max" if is_number => integer::binary(name, ty)?,
        _ => return None,
    };
    Some(Change::By(function))
}
