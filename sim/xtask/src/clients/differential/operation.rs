//! An operation: its name in CUDA C++, and the function with which the host computes it.

use super::values::{Bound, Type};

/// A function that maps bits to bits.
pub(super) type Function = Box<dyn Fn(&[u64]) -> u64 + Send + Sync>;

/// An operation on values.
pub(super) struct Operation {
    /// A C++ expression in which `$0` and `$1` stand for the operands, or a PTX instruction on
    /// registers, such as `bfe.u32`.
    pub(super) text: String,
    pub(super) is_instruction: bool,
    pub(super) operands: Vec<Type>,
    pub(super) result: Type,
    pub(super) bound: Bound,
    /// `true` if the result depends on the sign of a NaN. Such an operation only takes inputs,
    /// whose bits are known.
    pub(super) takes_inputs: bool,
    pub(super) function: Function,
}

impl Operation {
    /// Creates an operation from a C++ expression.
    pub(super) fn expression(
        text: &str,
        operands: &[Type],
        result: Type,
        function: impl Fn(&[u64]) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            text: text.to_owned(),
            is_instruction: false,
            operands: operands.to_vec(),
            result,
            bound: Bound::Exact,
            takes_inputs: false,
            function: Box::new(function),
        }
    }

    /// Creates an operation from a PTX instruction. The result comes first, then the operands.
    pub(super) fn instruction(
        name: &str,
        operands: &[Type],
        result: Type,
        function: impl Fn(&[u64]) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { is_instruction: true, ..Self::expression(name, operands, result, function) }
    }

    /// Sets the error bound for an inexact result.
    pub(super) fn within(self, relative: f64, absolute: f64) -> Self {
        Self { bound: Bound::Within { relative, absolute }, ..self }
    }

    /// Returns the name of the C++ function that wraps an instruction.
    fn name(&self) -> String {
        let letters = self.text.chars();
        letters.map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect()
    }

    /// Returns the definition of that function, which uses inline PTX on registers. 16-bit numbers
    /// are passed as bits.
    pub(super) fn definition(&self) -> Option<String> {
        if !self.is_instruction {
            return None;
        }
        let raw = |ty: Type| match ty {
            Type::F16 | Type::Bf16 => Type::U16.names(),
            Type::F16x2 => Type::U32.names(),
            ty => ty.names(),
        };
        let (mut formals, mut places, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
        for (index, ty) in self.operands.iter().enumerate() {
            let (raw_name, letter) = raw(*ty);
            formals.push(format!("{} a{index}", ty.names().0));
            places.push(format!(", %{}", index + 1));
            inputs.push(format!("\"{letter}\"(as<{raw_name}>(a{index}))"));
        }
        let (result, (raw_result, letter)) = (self.result.names().0, raw(self.result));
        // The text of such an instruction already contains its operands.
        let line = match self.text.contains('%') {
            true => self.text.clone(),
            false => format!("{} %0{};", self.text, places.concat()),
        };
        Some(format!(
            "__device__ inline {result} {}({}) {{ {raw_result} d; asm(\"{line}\" : \"={letter}\"(d) : {}); return \
             as<{result}>(d); }}\n",
            self.name(),
            formals.join(", "),
            inputs.join(", ")
        ))
    }

    /// Returns the C++ expression with these operands.
    pub(super) fn apply(&self, operands: &[String]) -> String {
        if self.is_instruction {
            return format!("{}({})", self.name(), operands.join(", "));
        }
        let filled = |text: String, (index, operand): (usize, &String)| {
            text.replace(&format!("${index}"), operand)
        };
        operands.iter().enumerate().fold(self.text.clone(), filled)
    }
}
