//! Function bodies: declarations, labels, instructions and their operands.

use super::error::{PtxError, Reading};
use super::lexer::Token;
use super::parser::Parser;
use super::syntax::{Guard, Instruction, Linkage, Operand, Statement};
use super::types::{Space, Type};

impl Parser<'_> {
    /// Parses a body from its opening brace to its closing brace.
    pub(super) fn body(&mut self) -> Reading<Vec<Statement>> {
        let start = self.line();
        self.expect('{')?;
        let (mut statements, mut depth) = (Vec::new(), 0_usize);
        loop {
            let line = self.line();
            match self.peek() {
                None => return Err(PtxError::new(start, "a body without an end")),
                Some(Token::Sign('}')) => {
                    self.next();
                    let Some(outer) = depth.checked_sub(1) else { return Ok(statements) };
                    depth = outer;
                    statements.push(Statement::Close);
                }
                Some(Token::Sign('{')) => {
                    self.next();
                    depth += 1;
                    statements.push(Statement::Open);
                }
                Some(Token::Sign(';')) => drop(self.next()),
                Some(Token::Sign('.')) => {
                    self.next();
                    statements.extend(self.declaration(line)?);
                }
                Some(_) => statements.push(self.statement(line)?),
            }
        }
    }

    fn declaration(&mut self, line: u32) -> Reading<Option<Statement>> {
        let statement = match self.word()? {
            "reg" => self.registers(line)?,
            "loc" | "file" => {
                self.skip_line(line);
                return Ok(None);
            }
            "pragma" => {
                self.skip_to(';')?;
                return Ok(None);
            }
            name => {
                let space = Space::from_name(name);
                let space = space.ok_or_else(|| {
                    PtxError::new(line, format!("`.{name}` is not modelled in a body"))
                })?;
                Statement::Variable(self.variable(line, space, Linkage::Local)?)
            }
        };
        self.expect(';')?;
        Ok(Some(statement))
    }

    fn registers(&mut self, line: u32) -> Reading<Statement> {
        self.expect('.')?;
        let name = self.word()?;
        let ty = Type::from_name(name).ok_or_else(|| {
            PtxError::new(line, format!("registers of `.{name}` are not modelled"))
        })?;
        let mut names = Vec::new();
        loop {
            let name = self.word()?;
            if self.accept('<') {
                let count = match self.number()? {
                    Operand::Integer(count) if (0..1 << 20).contains(&count) => count,
                    _ => return Err(PtxError::new(line, "a count of registers out of range")),
                };
                self.expect('>')?;
                self.add_registers(usize::try_from(count).unwrap_or(usize::MAX))?;
                names.extend((0..count).map(|index| format!("{name}{index}")));
            } else {
                names.push(name.to_owned());
            }
            if !self.accept(',') {
                return Ok(Statement::Registers { ty, names });
            }
        }
    }

    fn statement(&mut self, line: u32) -> Reading<Statement> {
        if let Some([Token::Word(label), Token::Sign(':')]) = self.peek_two() {
            self.next();
            self.next();
            return self.label(label);
        }
        let guard = if self.accept('@') {
            let negated = self.accept('!');
            Some(Guard { name: self.word()?.to_owned(), negated })
        } else {
            None
        };
        let name = self.word()?.to_owned();
        let mut modifiers = Vec::new();
        while self.accept('.') {
            modifiers.push(self.modifier().map_err(|error| error.of(&name, &modifiers))?);
        }
        let operands = self.operands().map_err(|error| error.of(&name, &modifiers))?;
        Ok(Statement::Instruction(Instruction { line, guard, name, modifiers, operands }))
    }

    /// Parses the operands of an instruction, up to its end.
    fn operands(&mut self) -> Reading<Vec<Operand>> {
        let mut operands = Vec::new();
        while !self.accept(';') {
            operands.push(self.operand()?);
            if !self.accept(',') {
                self.expect(';')?;
                break;
            }
        }
        Ok(operands)
    }

    /// Parses a label, or a named list of labels.
    fn label(&mut self, label: &str) -> Reading<Statement> {
        let name = label.to_owned();
        if self.peek_two() != Some([Token::Sign('.'), Token::Word("branchtargets")]) {
            return Ok(Statement::Label(name));
        }
        self.next();
        self.next();
        let mut labels = Vec::new();
        loop {
            labels.push(self.word()?.to_owned());
            if !self.accept(',') {
                break;
            }
        }
        self.expect(';')?;
        Ok(Statement::Targets { name, labels })
    }

    /// Parses a modifier such as `global`, `L2::128B` or `2d`.
    fn modifier(&mut self) -> Reading<String> {
        let mut modifier = match self.peek() {
            Some(Token::Number(number)) => {
                self.next();
                let letters = match self.peek() {
                    Some(Token::Word(letters)) => letters,
                    _ => "",
                };
                if !letters.is_empty() {
                    self.next();
                }
                format!("{number}{letters}")
            }
            _ => self.word()?.to_owned(),
        };
        while self.peek_two() == Some([Token::Sign(':'), Token::Sign(':')]) {
            self.next();
            self.next();
            let line = self.line();
            match self.next() {
                Some(Token::Word(part) | Token::Number(part)) => {
                    modifier = format!("{modifier}::{part}");
                }
                _ => return Err(PtxError::new(line, "a modifier goes on with a name")),
            }
        }
        Ok(modifier)
    }

    fn operand(&mut self) -> Reading<Operand> {
        if self.accept('{') {
            return self.operands_until('}').map(Operand::Group);
        }
        if self.accept('(') {
            return self.operands_until(')').map(Operand::List);
        }
        self.single_operand()
    }

    /// Parses an operand outside braces, because groups do not nest.
    fn single_operand(&mut self) -> Reading<Operand> {
        let line = self.line();
        match self.peek() {
            Some(Token::Word(_)) => self.named(),
            Some(Token::Number(_) | Token::Sign('-')) => self.number(),
            Some(Token::Sign('!')) => {
                self.next();
                Ok(Operand::Not(self.word()?.to_owned()))
            }
            Some(Token::Sign('[')) => self.address(),
            _ => Err(PtxError::new(line, "an operand was expected")),
        }
    }

    fn operands_until(&mut self, end: char) -> Reading<Vec<Operand>> {
        let mut operands = Vec::new();
        while !self.accept(end) {
            operands.push(self.single_operand()?);
            if !self.accept(',') {
                self.expect(end)?;
                break;
            }
        }
        Ok(operands)
    }

    /// Parses a register, a component of a special register, a variable with an offset, or a pair
    /// of results.
    fn named(&mut self) -> Reading<Operand> {
        let line = self.line();
        let mut name = self.word()?.to_owned();
        if self.accept('.') {
            name = format!("{name}.{}", self.word()?);
        }
        if self.accept('|') {
            return Ok(Operand::Both(name, self.word()?.to_owned()));
        }
        if self.peek() == Some(Token::Sign('+')) {
            let offset = self.offset()?;
            return Ok(Operand::Address { base: Some(name), offset });
        }
        if self.peek() == Some(Token::Sign('<')) {
            return Err(PtxError::new(line, "a range of registers is no operand"));
        }
        Ok(Operand::Name(name))
    }

    fn address(&mut self) -> Reading<Operand> {
        let line = self.line();
        self.expect('[')?;
        let operand = match self.peek() {
            Some(Token::Word(name)) => {
                self.next();
                Operand::Address { base: Some(name.to_owned()), offset: self.offset()? }
            }
            _ => match self.number()? {
                Operand::Integer(value) => {
                    let offset = i64::try_from(value)
                        .map_err(|_| PtxError::new(line, "an address out of range"))?;
                    Operand::Address { base: None, offset }
                }
                _ => return Err(PtxError::new(line, "an address is a whole number")),
            },
        };
        self.expect(']')?;
        Ok(operand)
    }
}
