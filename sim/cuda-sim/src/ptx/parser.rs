//! Parses tokens into a module: directives, variables and functions. `body.rs` parses bodies.

use super::error::{PtxError, Reading};
use super::lexer::{Placed, Token};
use super::number::{low_bits, number};
use super::syntax::{Function, Initial, Linkage, Module, Operand, Variable};
use super::types::{Space, Type};

/// The strictest alignment that the simulator accepts for a variable. NVIDIA's assembler has no
/// such limit.
const ALIGNMENT: usize = 1 << 16;
/// The limit on the number of registers that all functions of a module name together. It is far
/// above the needs of any real module, and the registers still fit in memory.
const REGISTERS: usize = 1 << 22;

/// Reads a list of tokens.
pub(super) struct Parser<'a> {
    tokens: &'a [Placed<'a>],
    at: usize,
    registers: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(tokens: &'a [Placed<'a>]) -> Self {
        Self { tokens, at: 0, registers: 0 }
    }

    /// Parses the whole module.
    pub(super) fn module(mut self) -> Reading<Module> {
        let mut module = Module::default();
        while self.peek().is_some() {
            self.item(&mut module)?;
        }
        if module.version == 0 || module.target == 0 {
            return Err(PtxError::new(1, "`.version` and `.target` must come first"));
        }
        module.refuse_second_definitions()?;
        Ok(module)
    }

    fn item(&mut self, module: &mut Module) -> Reading<()> {
        let line = self.line();
        if self.accept(';') {
            return Ok(());
        }
        self.expect('.')?;
        let mut linkage = Linkage::Local;
        loop {
            let directive = self.word()?;
            match directive {
                "version" => module.version = self.version()?,
                "target" => module.target = self.target()?,
                "address_size" => {
                    if self.integer()? != 64 {
                        return Err(PtxError::new(line, "only addresses of 64 bits are modelled"));
                    }
                }
                "visible" | "weak" | "extern" | "common" => {
                    linkage = match directive {
                        "visible" => Linkage::Visible,
                        "weak" => Linkage::Weak,
                        "common" => Linkage::Common,
                        _ => Linkage::External,
                    };
                    self.expect('.')?;
                    continue;
                }
                "file" | "loc" => self.skip_line(line),
                "pragma" => self.skip_to(';')?,
                "section" => self.skip_block()?,
                "entry" | "func" => {
                    if linkage == Linkage::Common {
                        return Err(unknown(line, "common"));
                    }
                    let function = self.function(line, directive == "entry", linkage)?;
                    module.functions.push(function);
                }
                space => {
                    let space = Space::from_name(space)
                        .filter(|space| *space != Space::Param)
                        .ok_or_else(|| unknown(line, space))?;
                    let variable = self.variable(line, space, linkage)?;
                    self.expect(';')?;
                    let is_common = linkage == Linkage::Common;
                    if is_common && (space != Space::Global || !variable.initial.is_empty()) {
                        let what = "`.common` is for global variables without a value";
                        return Err(PtxError::new(line, what));
                    }
                    module.variables.push(variable);
                }
            }
            return Ok(());
        }
    }

    fn version(&mut self) -> Reading<u32> {
        let line = self.line();
        let Some(Token::Number(text)) = self.next() else {
            return Err(PtxError::new(line, "a version is a number"));
        };
        let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
        let number = |part: &str| part.parse::<u32>().ok().filter(|number| *number < 1000);
        let (Some(major), Some(minor)) = (number(major), number(minor)) else {
            return Err(PtxError::new(line, "a version is a number"));
        };
        Ok(major * 10 + minor)
    }

    fn target(&mut self) -> Reading<u32> {
        let line = self.line();
        let name = self.word()?;
        let digits =
            name.strip_prefix("sm_").ok_or_else(|| PtxError::new(line, "a target is `sm_`"))?;
        let number = digits.trim_end_matches(|end: char| end.is_ascii_lowercase());
        while self.accept(',') {
            self.word()?;
        }
        number.parse().map_err(|_| PtxError::new(line, "a target is `sm_` and a number"))
    }

    /// Parses the alignment, type, name, extent and initial value, which follow the state space.
    pub(super) fn variable(
        &mut self,
        line: u32,
        space: Space,
        linkage: Linkage,
    ) -> Reading<Variable> {
        let (mut align, mut element, mut vector) = (0, None, 1);
        while self.accept('.') {
            match self.word()? {
                "align" => align = self.size()?,
                // The pointee type of a parameter is only a hint for compilers.
                "ptr" => self.accept_pointer_space(),
                "v2" => vector = 2,
                "v4" => vector = 4,
                name => element = Some(Type::from_name(name).ok_or_else(|| unknown(line, name))?),
            }
        }
        let element = element.ok_or_else(|| PtxError::new(line, "a variable without a type"))?;
        let name = self.word()?.to_owned();
        let (mut count, mut open) = (vector, false);
        while self.accept('[') {
            if self.accept(']') {
                open = true;
                continue;
            }
            count =
                self.size()?.checked_mul(count).ok_or_else(|| PtxError::new(line, "too large"))?;
            self.expect(']')?;
        }
        let initial = if self.accept('=') { self.initial()? } else { Vec::new() };
        if open && !initial.is_empty() {
            (count, open) = (initial.len(), false);
        }
        if initial.len() > count {
            return Err(PtxError::new(line, "more initial values than elements"));
        }
        let bytes = if open { 0 } else { count.saturating_mul(element.bytes()) };
        let align = if align == 0 { element.bytes() * vector } else { align };
        if !align.is_power_of_two() || align > ALIGNMENT || bytes > 1 << 31 {
            return Err(PtxError::new(line, "an alignment or a size that is not modelled"));
        }
        Ok(Variable { line, name, space, element, align, bytes, linkage, initial })
    }

    fn accept_pointer_space(&mut self) {
        if let Some([Token::Sign('.'), Token::Word(name)]) = self.peek_two() {
            if Space::from_name(name).is_some() {
                self.at += 2;
            }
        }
    }

    fn initial(&mut self) -> Reading<Vec<Initial>> {
        if !self.accept('{') {
            return Ok(vec![self.initial_element()?]);
        }
        let mut elements = Vec::new();
        while !self.accept('}') {
            if self.accept('{') {
                return Err(PtxError::new(self.line(), "nested initial values are not modelled"));
            }
            elements.push(self.initial_element()?);
            self.accept(',');
        }
        Ok(elements)
    }

    fn initial_element(&mut self) -> Reading<Initial> {
        let line = self.line();
        if let Some(Token::Word(name)) = self.peek() {
            self.at += 1;
            if name != "generic" {
                return Ok(Initial::Address(name.to_owned(), self.offset()?));
            }
            self.expect('(')?;
            let (name, inside) = (self.word()?.to_owned(), self.offset()?);
            self.expect(')')?;
            let beyond = self.offset()?;
            return Ok(Initial::Address(name, inside.wrapping_add(beyond)));
        }
        match self.number()? {
            Operand::Integer(value) => Ok(Initial::Bits(low_bits(value))),
            Operand::Float32(bits) => Ok(Initial::Bits(bits.into())),
            Operand::Float64(bits) => Ok(Initial::Bits(bits)),
            _ => Err(PtxError::new(line, "no initial value")),
        }
    }

    /// Parses `+4`, `-4`, `+-4` or nothing.
    pub(super) fn offset(&mut self) -> Reading<i64> {
        let line = self.line();
        let plus = self.accept('+');
        if !plus && self.peek() != Some(Token::Sign('-')) {
            return Ok(0);
        }
        match self.number()? {
            Operand::Integer(value) => {
                i64::try_from(value).map_err(|_| PtxError::new(line, "a distance too far"))
            }
            _ => Err(PtxError::new(line, "a distance is a whole number")),
        }
    }

    fn function(&mut self, line: u32, is_entry: bool, linkage: Linkage) -> Reading<Function> {
        let results =
            if self.peek() == Some(Token::Sign('(')) { self.parameters()? } else { vec![] };
        let name = self.word()?.to_owned();
        let parameters =
            if self.peek() == Some(Token::Sign('(')) { self.parameters()? } else { vec![] };
        let (mut most_threads, mut exact_threads) = (None, None);
        while self.accept('.') {
            match self.word()? {
                "maxntid" => most_threads = Some(self.extents()?),
                "reqntid" => exact_threads = Some(self.extents()?),
                // Hints for an assembler, and a limit for clusters, which the simulator does not
                // model.
                "minnctapersm" | "maxnreg" | "maxclusterrank" => drop(self.integer()?),
                "noreturn" => {}
                "pragma" => self.skip_to(';')?,
                other => return Err(unknown(line, other)),
            }
        }
        let body = if self.accept(';') { None } else { Some(self.body()?) };
        let function = Function {
            line,
            name,
            linkage,
            is_entry,
            parameters,
            results,
            most_threads,
            exact_threads,
            body,
        };
        Ok(function)
    }

    /// Counts the registers that a function names.
    pub(super) fn add_registers(&mut self, count: usize) -> Reading<()> {
        self.registers = self.registers.saturating_add(count);
        if self.registers <= REGISTERS {
            return Ok(());
        }
        Err(PtxError::new(self.line(), format!("a module of more than {REGISTERS} registers")))
    }

    fn extents(&mut self) -> Reading<[u32; 3]> {
        let mut extents = [1; 3];
        for (index, extent) in extents.iter_mut().enumerate() {
            if index > 0 && !self.accept(',') {
                break;
            }
            let line = self.line();
            *extent = u32::try_from(self.integer()?)
                .map_err(|_| PtxError::new(line, "an extent out of range"))?;
        }
        Ok(extents)
    }

    fn parameters(&mut self) -> Reading<Vec<Variable>> {
        self.expect('(')?;
        let mut parameters = Vec::new();
        while !self.accept(')') {
            let line = self.line();
            self.expect('.')?;
            let space = self.word()?;
            if space != "param" {
                return Err(PtxError::new(
                    line,
                    format!("parameters in `.{space}` are not modelled"),
                ));
            }
            parameters.push(self.variable(line, Space::Param, Linkage::Local)?);
            self.accept(',');
        }
        Ok(parameters)
    }

    /// Parses a number with its sign.
    pub(super) fn number(&mut self) -> Reading<Operand> {
        let line = self.line();
        let negative = self.accept('-');
        let Some(Token::Number(text)) = self.next() else {
            return Err(PtxError::new(line, "a number was expected"));
        };
        let number =
            number(text).ok_or_else(|| PtxError::new(line, format!("{text} is not a number")))?;
        Ok(match number {
            Operand::Integer(value) if negative => Operand::Integer(-value),
            Operand::Float32(bits) if negative => Operand::Float32(bits ^ 1 << 31),
            Operand::Float64(bits) if negative => Operand::Float64(bits ^ 1 << 63),
            number => number,
        })
    }

    fn integer(&mut self) -> Reading<i128> {
        let line = self.line();
        match self.number()? {
            Operand::Integer(value) => Ok(value),
            _ => Err(PtxError::new(line, "a whole number was expected")),
        }
    }

    fn size(&mut self) -> Reading<usize> {
        let line = self.line();
        usize::try_from(self.integer()?).map_err(|_| PtxError::new(line, "a size out of range"))
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|placed| placed.token)
    }

    pub(super) fn peek_two(&self) -> Option<[Token<'a>; 2]> {
        let second = self.tokens.get(self.at + 1)?;
        Some([self.peek()?, second.token])
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |placed| placed.line)
    }

    pub(super) fn accept(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, sign: char) -> Reading<()> {
        let (line, found) = (self.line(), self.peek());
        if self.accept(sign) {
            return Ok(());
        }
        Err(PtxError::new(line, format!("`{sign}` was expected, not {}", describe(found))))
    }

    pub(super) fn word(&mut self) -> Reading<&'a str> {
        let line = self.line();
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => {
                Err(PtxError::new(line, format!("a name was expected, not {}", describe(other))))
            }
        }
    }

    pub(super) fn skip_to(&mut self, sign: char) -> Reading<()> {
        let line = self.line();
        loop {
            match self.next() {
                Some(Token::Sign(found)) if found == sign => return Ok(()),
                Some(_) => {}
                None => return Err(PtxError::new(line, format!("`{sign}` was expected"))),
            }
        }
    }

    /// Skips a debug directive, which ends with its line.
    pub(super) fn skip_line(&mut self, line: u32) {
        while self.tokens.get(self.at).is_some_and(|placed| placed.line == line) {
            self.at += 1;
        }
    }

    /// Skips a debug section, which consists of a name and a block.
    fn skip_block(&mut self) -> Reading<()> {
        self.skip_to('{')?;
        self.skip_to('}')
    }
}

fn unknown(line: u32, name: &str) -> PtxError {
    PtxError::new(line, format!("`.{name}` is not modelled"))
}

fn describe(token: Option<Token<'_>>) -> String {
    match token {
        Some(Token::Word(text) | Token::Number(text)) => format!("`{text}`"),
        Some(Token::Text(text)) => format!("\"{text}\""),
        Some(Token::Sign(sign)) => format!("`{sign}`"),
        None => "the end".to_owned(),
    }
}
