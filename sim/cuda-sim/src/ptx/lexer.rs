//! Splits PTX into words, numbers, texts and signs, each with its line.

use super::error::{PtxError, Reading};

/// A word with its sigil, a number as written, a text without its quotes, or a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Word(&'a str),
    Number(&'a str),
    Text(&'a str),
    Sign(char),
}

/// A token and its line, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) line: u32,
}

/// Splits a text into tokens and drops comments. `line` is the number of the first line.
///
/// # Errors
///
/// Fails for an unterminated comment or text, and for characters that PTX does not use.
pub(crate) fn tokens(text: &str, line: u32) -> Reading<Vec<Placed<'_>>> {
    let mut lexer = Lexer { rest: text, line };
    let mut found = Vec::new();
    while let Some(placed) = lexer.next()? {
        found.push(placed);
    }
    Ok(found)
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Reading<Option<Placed<'a>>> {
        self.skip_blanks()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let line = self.line;
        let token = if first.is_ascii_digit() {
            Token::Number(self.take(number_length(self.rest)))
        } else if is_word_start(first) {
            let inside = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '$');
            let len = 1 + self.rest[1..].find(|next| !inside(next)).unwrap_or(self.rest.len() - 1);
            Token::Word(self.take(len))
        } else if first == '"' {
            let len = self.rest[1..].find('"');
            let len = len.ok_or_else(|| PtxError::new(line, "a text without an end"))?;
            Token::Text(&self.take(len + 2)[1..=len])
        } else if first.is_ascii_punctuation() {
            self.take(1);
            Token::Sign(first)
        } else {
            return Err(PtxError::new(line, format!("{first:?} is no character of PTX")));
        };
        Ok(Some(Placed { token, line }))
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        let lines = taken.bytes().filter(|byte| *byte == b'\n').count();
        self.line += u32::try_from(lines).unwrap_or(0);
        taken
    }

    fn skip_blanks(&mut self) -> Reading<()> {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.take(blanks);
            if self.rest.starts_with("//") {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/");
                let end =
                    end.ok_or_else(|| PtxError::new(self.line, "a comment without an end"))?;
                self.take(end + 2);
            } else {
                return Ok(());
            }
        }
    }
}

fn is_word_start(first: char) -> bool {
    first.is_ascii_alphabetic() || matches!(first, '_' | '$' | '%')
}

/// Returns the length of a run of digits and letters, which may contain a point followed by digits.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let goes_on = |index: usize| {
        bytes[index].is_ascii_alphanumeric()
            || (bytes[index] == b'.' && bytes.get(index + 1).is_some_and(u8::is_ascii_digit))
    };
    (1..bytes.len()).find(|index| !goes_on(*index)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens};

    #[test]
    fn an_instruction_falls_into_its_parts() {
        let text = "@!%p1 ld.global.v2.f32 {%f1, _}, [%rd1+-8]; // none\n$L_1:";
        let found: Vec<Token<'_>> =
            tokens(text, 1).unwrap().iter().map(|placed| placed.token).collect();
        let expected = [
            Token::Sign('@'),
            Token::Sign('!'),
            Token::Word("%p1"),
            Token::Word("ld"),
            Token::Sign('.'),
            Token::Word("global"),
            Token::Sign('.'),
            Token::Word("v2"),
        ];
        assert_eq!(found[..8], expected);
        assert_eq!(found[found.len() - 2..], [Token::Word("$L_1"), Token::Sign(':')]);
    }

    #[test]
    fn lines_are_counted_through_comments() {
        let found = tokens("/* a\nb */ .version 9.0\n\"te\nxt\" 0f3F800000", 1).unwrap();
        let lines: Vec<u32> = found.iter().map(|placed| placed.line).collect();
        assert_eq!(lines, [2, 2, 2, 3, 4]);
        assert_eq!(found[2].token, Token::Number("9.0"));
        assert_eq!(found[4].token, Token::Number("0f3F800000"));
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        assert!(tokens("/* ", 1).is_err());
        assert!(tokens("\"a", 1).is_err());
        assert_eq!(tokens("\n\u{e9}", 1).unwrap_err().line, 2);
    }
}
