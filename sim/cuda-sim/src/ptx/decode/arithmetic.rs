//! Arithmetic on numbers and on bits.

use super::super::directed;
use super::super::error::Reading;
use super::super::float::{self, Style};
use super::super::function::{One, Three, Two};
use super::super::integer;
use super::super::op::Kind;
use super::super::rounding::Round;
use super::super::syntax::{Instruction, Operand};
use super::super::types::Type;
use super::modifiers::{Modifiers, exactly};
use super::{Decoder, unknown};

/// The rounding directions that arithmetic instructions can name.
const DIRECTIONS: [(&str, Round); 4] =
    [("rn", Round::Nearest), ("rz", Round::Zero), ("rm", Round::Down), ("rp", Round::Up)];

impl Decoder {
    pub(super) fn arithmetic(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let leaves_carry = modifiers.take("cc");
        match instruction.name.as_str() {
            "addc" | "subc" | "madc" => self.carried(instruction, modifiers, leaves_carry),
            _ if leaves_carry => self.carried(instruction, modifiers, true),
            "dp4a" | "dp2a" => self.dot(instruction, modifiers),
            "and" | "or" | "xor" | "not" | "popc" | "clz" | "brev" | "bfind" | "cnot" | "shl"
            | "shr" | "bfe" | "bfi" | "lop3" | "prmt" | "shf" => self.bits(instruction, modifiers),
            "add" | "sub" | "mul" | "div" | "rem" | "min" | "max" | "neg" | "abs" | "mad"
            | "sad" | "fma" | "sqrt" | "rsqrt" | "rcp" | "ex2" | "lg2" | "sin" | "cos" | "tanh"
            | "copysign" | "testp" => {
                if instruction.name == "testp" {
                    return self.sort_of_number(instruction, modifiers);
                }
                let half = modifiers.take_leading(&["lo", "hi", "wide"])?;
                let direction = modifiers.take_one(|name| {
                    DIRECTIONS.iter().find(|(known, _)| *known == name).map(|(_, round)| *round)
                });
                let flush = modifiers.take("ftz");
                let saturate = modifiers.take("sat");
                let ty = modifiers.take_type()?;
                if ty.is_float() || ty.is_short() {
                    let style = Style { flush, saturate };
                    if half.is_some() {
                        return Err(unknown(instruction));
                    }
                    return self.float(instruction, modifiers, ty, direction, style);
                }
                if flush || direction.is_some() {
                    return Err(unknown(instruction));
                }
                self.whole(instruction, ty, half, saturate)
            }
            _ => Err(unknown(instruction)),
        }
    }

    /// `testp`.
    fn sort_of_number(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
    ) -> Reading<Kind> {
        let refused = || unknown(instruction);
        let sorts = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
        let sort = modifiers.take_among(&sorts).ok_or_else(refused)?;
        let ty = modifiers.take_type()?;
        self.one_to(instruction, Type::Pred, ty, float::test(sort, ty).ok_or_else(refused)?)
    }

    fn one(&mut self, instruction: &Instruction, ty: Type, function: One) -> Reading<Kind> {
        self.one_to(instruction, ty, ty, function)
    }

    fn one_to(
        &mut self,
        instruction: &Instruction,
        result: Type,
        ty: Type,
        function: One,
    ) -> Reading<Kind> {
        let [to, a] = exactly(instruction)?;
        let line = instruction.line;
        let to = self.target(to, result, line)?;
        Ok(Kind::One { function, to, a: self.source(a, ty, line)? })
    }

    fn two(
        &mut self,
        instruction: &Instruction,
        [result, first, second]: [Type; 3],
        function: Two,
    ) -> Reading<Kind> {
        let [to, a, b] = exactly(instruction)?;
        let line = instruction.line;
        let to = self.target(to, result, line)?;
        let (a, b) = (self.source(a, first, line)?, self.source(b, second, line)?);
        Ok(Kind::Two { function, to, a, b })
    }

    pub(super) fn three(
        &mut self,
        instruction: &Instruction,
        [result, first, second, third]: [Type; 4],
        function: Three,
    ) -> Reading<Kind> {
        let [to, a, b, c] = exactly(instruction)?;
        let line = instruction.line;
        let to = self.target(to, result, line)?;
        let (a, b) = (self.source(a, first, line)?, self.source(b, second, line)?);
        Ok(Kind::Three { function, to, a, b, c: self.source(c, third, line)? })
    }

    fn whole(
        &mut self,
        instruction: &Instruction,
        ty: Type,
        half: Option<&'static str>,
        saturate: bool,
    ) -> Reading<Kind> {
        let refused = || unknown(instruction);
        let wide = match (half, ty) {
            (Some("wide"), Type::U16) => Type::U32,
            (Some("wide"), Type::S16) => Type::S32,
            (Some("wide"), Type::U32) => Type::U64,
            (Some("wide"), Type::S32) => Type::S64,
            (Some("wide"), _) => return Err(refused()),
            _ => ty,
        };
        let is_bits = matches!(ty, Type::B16 | Type::B32 | Type::B64);
        if is_bits || (saturate && ty != Type::S32) {
            return Err(refused());
        }
        let name = instruction.name.as_str();
        let full = match (name, half) {
            ("mul" | "mad", Some(half)) if !saturate => format!("{name}_{half}"),
            ("add" | "sub", None) if saturate => format!("{name}_sat"),
            ("mul" | "mad", _) => return Err(refused()),
            (_, None) if !saturate => name.to_owned(),
            _ => return Err(refused()),
        };
        match name {
            "mad" | "sad" => {
                let function = integer::ternary(&full, ty).ok_or_else(refused)?;
                self.three(instruction, [wide, ty, ty, wide], function)
            }
            "neg" | "abs" if ty.is_signed() => {
                self.one(instruction, ty, integer::unary(name, ty).ok_or_else(refused)?)
            }
            "neg" | "abs" => Err(refused()),
            _ => {
                let function = integer::binary(&full, ty).ok_or_else(refused)?;
                self.two(instruction, [wide, ty, ty], function)
            }
        }
    }

    fn bits(&mut self, instruction: &Instruction, modifiers: &mut Modifiers<'_>) -> Reading<Kind> {
        let refused = || unknown(instruction);
        let name = instruction.name.as_str();
        if name == "prmt" && modifiers.take("b32") {
            return self.three(instruction, [Type::B32; 4], integer::permute);
        }
        if name == "shf" {
            let left = modifiers.take_leading(&["l", "r"])?.ok_or_else(refused)? == "l";
            let wraps = modifiers.take_among(&["wrap", "clamp"]).ok_or_else(refused)? == "wrap";
            let function = integer::funnel(left, wraps);
            if !modifiers.take("b32") {
                return Err(refused());
            }
            return self.three(instruction, [Type::B32; 4], function);
        }
        let is_distance = name == "bfind" && modifiers.take("shiftamt");
        let ty = modifiers.take_type()?;
        let is_bits = matches!(ty, Type::B16 | Type::B32 | Type::B64);
        let (whole, word) = (!is_bits && ty != Type::Pred && !ty.is_float(), Type::U32);
        match name {
            "and" | "or" | "xor" if is_bits || ty == Type::Pred => {
                let function = integer::logic(name).ok_or_else(refused)?;
                self.two(instruction, [ty; 3], function)
            }
            "not" | "cnot" if is_bits || (ty == Type::Pred && name == "not") => {
                self.one(instruction, ty, integer::unary(name, ty).ok_or_else(refused)?)
            }
            "popc" | "clz" if matches!(ty, Type::B32 | Type::B64) => {
                let function = integer::unary(name, ty).ok_or_else(refused)?;
                self.one_to(instruction, word, ty, function)
            }
            "bfind" if whole && ty.bytes() >= 4 => {
                let name = if is_distance { "bfind_shiftamt" } else { name };
                let function = integer::unary(name, ty).ok_or_else(refused)?;
                self.one_to(instruction, word, ty, function)
            }
            "brev" if matches!(ty, Type::B32 | Type::B64) => {
                self.one(instruction, ty, integer::unary(name, ty).ok_or_else(refused)?)
            }
            "shl" if is_bits => {
                let function = integer::shift(name, ty).ok_or_else(refused)?;
                self.two(instruction, [ty, ty, word], function)
            }
            "shr" if ty != Type::Pred => {
                let function = integer::shift(name, ty).ok_or_else(refused)?;
                self.two(instruction, [ty, ty, word], function)
            }
            "bfe" if whole && ty.bytes() >= 4 => {
                let function = integer::extract(ty).ok_or_else(refused)?;
                self.three(instruction, [ty, ty, word, word], function)
            }
            "bfi" => {
                let function = integer::insert(ty).ok_or_else(refused)?;
                let [to, a, b, c, d] = exactly(instruction)?;
                self.four(instruction, ty, to, [(a, ty), (b, ty), (c, word), (d, word)], function)
            }
            "lop3" if ty == Type::B32 => {
                let [to, a, b, c, table] = exactly(instruction)?;
                let sources = [(a, ty), (b, ty), (c, ty), (table, ty)];
                self.four(instruction, ty, to, sources, integer::three_bits)
            }
            _ => Err(refused()),
        }
    }

    fn four(
        &mut self,
        instruction: &Instruction,
        ty: Type,
        to: &Operand,
        sources: [(&Operand, Type); 4],
        function: super::super::function::Four,
    ) -> Reading<Kind> {
        let line = instruction.line;
        let to = self.target(to, ty, line)?;
        let mut registers = [0; 4];
        for (register, (operand, ty)) in registers.iter_mut().zip(sources) {
            *register = self.source(operand, ty, line)?;
        }
        Ok(Kind::Four { function, to, sources: registers })
    }

    fn float(
        &mut self,
        instruction: &Instruction,
        modifiers: &mut Modifiers<'_>,
        ty: Type,
        direction: Option<Round>,
        style: Style,
    ) -> Reading<Kind> {
        let refused = || unknown(instruction);
        let name = instruction.name.as_str();
        // Only division can have `.full`.
        let approximate = modifiers.take("approx")
            || (name == "div" && modifiers.take_leading(&["full"])?.is_some());
        // An instruction requires, allows or forbids a rounding direction and `.approx`.
        let is_exact = !approximate && direction.is_none();
        let fits = match name {
            "add" | "sub" | "mul" => !approximate,
            "fma" | "mad" => !approximate && direction.is_some(),
            "div" | "sqrt" | "rcp" => approximate != direction.is_some(),
            "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => approximate && direction.is_none(),
            "min" | "max" | "neg" | "abs" | "copysign" => is_exact && !style.saturate,
            _ => false,
        };
        if !fits || !has_type(name, ty, approximate, style) {
            return Err(refused());
        }
        if let Some(round) = direction.filter(|round| *round != Round::Nearest) {
            return self.directed(instruction, ty, round, style);
        }
        match name {
            "fma" | "mad" => {
                let function = float::fused(ty, style).ok_or_else(refused)?;
                self.three(instruction, [ty; 4], function)
            }
            "add" | "sub" | "mul" | "div" | "copysign" => {
                let function = float::binary(name, ty, style).ok_or_else(refused)?;
                self.two(instruction, [ty; 3], function)
            }
            "min" | "max" => {
                let keeps_none = ty != Type::F64 && modifiers.take("NaN");
                let name = match (name, keeps_none) {
                    ("min", true) => "min_nan",
                    ("max", true) => "max_nan",
                    (name, _) => name,
                };
                let function = float::binary(name, ty, style).ok_or_else(refused)?;
                self.two(instruction, [ty; 3], function)
            }
            "ex2" if matches!(ty, Type::Bf16 | Type::Bf16x2) => {
                self.one(instruction, ty, float::flushed_power(ty).ok_or_else(refused)?)
            }
            "rcp" | "rsqrt" if ty == Type::F64 && approximate && style.flush => {
                let function = float::short_double(name).ok_or_else(refused)?;
                self.one(instruction, ty, function)
            }
            _ => {
                let function = float::unary(name, ty, style).ok_or_else(refused)?;
                self.one(instruction, ty, function)
            }
        }
    }

    fn directed(
        &mut self,
        instruction: &Instruction,
        ty: Type,
        round: Round,
        style: Style,
    ) -> Reading<Kind> {
        let refused = || unknown(instruction);
        if ty == Type::F64 {
            if style.flush || style.saturate {
                return Err(refused());
            }
            let function = directed::double(&instruction.name, round).ok_or_else(refused)?;
            return self.two(instruction, [ty; 3], function);
        }
        if ty != Type::F32 || style.flush || style.saturate {
            return Err(refused());
        }
        match instruction.name.as_str() {
            "fma" | "mad" => {
                let function = directed::fused(round).ok_or_else(refused)?;
                self.three(instruction, [ty; 4], function)
            }
            name => {
                let function = directed::binary(name, round).ok_or_else(refused)?;
                self.two(instruction, [ty; 3], function)
            }
        }
    }
}

/// Returns `true` if PTX has this instruction for this type.
fn has_type(name: &str, ty: Type, approximate: bool, style: Style) -> bool {
    let is_short = ty.is_short();
    let is_brain = matches!(ty, Type::Bf16 | Type::Bf16x2);
    let (single, double) = (ty == Type::F32, ty == Type::F64);
    let styles = match name {
        "add" | "sub" | "mul" | "fma" | "mad" => true,
        _ => !style.saturate,
    };
    styles
        && match name {
            "add" | "sub" | "mul" | "fma" | "neg" | "abs" | "min" | "max" => true,
            "mad" => single || double,
            "copysign" => double || (single && !style.flush),
            "div" | "sqrt" => single || (double && !approximate),
            "rcp" => single || (double && approximate == style.flush),
            "rsqrt" => single || double,
            "ex2" => single || (is_short && style.flush == is_brain),
            "tanh" => (single || is_short) && !style.flush,
            "lg2" | "sin" | "cos" => single,
            _ => false,
        }
}
