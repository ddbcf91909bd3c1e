//! Converts bytes to instructions. Each instruction consists of an opcode and its argument.

use std::io::{self, BufRead, ErrorKind, Read as _};

use super::super::error::LogError;
use super::error::PickleError;
use super::number::Number;
use super::opcode::Opcode;

/// The maximum length of a text in bytes.
const MOST_TEXT: u64 = 1 << 24;

/// The argument of an opcode.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Argument<'a> {
    /// The opcode has no argument, or an argument that no snapshot needs, such as a float or bytes.
    Nothing,
    /// An integer.
    Int(Number),
    /// A text.
    Text(&'a str),
    /// The number of a memo entry.
    Memo(u32),
}

fn int(number: impl Into<i64>) -> Argument<'static> {
    Argument::Int(Number::Int(number.into()))
}

/// The instructions of a pickle.
#[derive(Debug)]
pub(super) struct Scanner<'a, R> {
    source: &'a mut R,
    /// The position of the next byte.
    at: u64,
    /// The position of the last opcode.
    pub(super) offset: u64,
    text: Vec<u8>,
}

impl<'a, R: BufRead> Scanner<'a, R> {
    pub(super) fn new(source: &'a mut R) -> Self {
        Self { source, at: 0, offset: 0, text: Vec::new() }
    }

    /// Returns an error at the last opcode.
    pub(super) fn wrong(&self, error: PickleError) -> LogError {
        LogError::Pickle { offset: self.offset, error }
    }

    /// Returns the next opcode and its argument.
    pub(super) fn next(&mut self) -> Result<(Opcode, Argument<'_>), LogError> {
        self.offset = self.at;
        let [byte] = self.bytes()?;
        let opcode = Opcode::of(byte).map_err(|error| self.wrong(error))?;
        let argument = match opcode {
            Opcode::Proto => self.protocol()?,
            Opcode::Frame => {
                self.bytes::<8>()?;
                Argument::Nothing
            }
            Opcode::BinFloat => {
                self.bytes::<8>()?;
                Argument::Nothing
            }
            Opcode::BinInt => int(i32::from_le_bytes(self.bytes()?)),
            Opcode::BinInt1 => int(u8::from_le_bytes(self.bytes()?)),
            Opcode::BinInt2 => int(u16::from_le_bytes(self.bytes()?)),
            Opcode::Long1 => {
                let [length] = self.bytes()?;
                self.long(length.into())?
            }
            Opcode::Long4 => {
                // A negative length is read as a very large length, which exceeds the size of any
                // file.
                let length = u32::from_le_bytes(self.bytes()?);
                self.long(length.into())?
            }
            Opcode::BinGet | Opcode::BinPut => {
                Argument::Memo(u8::from_le_bytes(self.bytes()?).into())
            }
            Opcode::LongBinGet | Opcode::LongBinPut => {
                Argument::Memo(u32::from_le_bytes(self.bytes()?))
            }
            Opcode::ShortBinUnicode | Opcode::ShortBinString => {
                let [length] = self.bytes()?;
                self.text(length.into())?
            }
            Opcode::BinUnicode | Opcode::BinString => {
                let length = u32::from_le_bytes(self.bytes()?);
                self.text(length.into())?
            }
            Opcode::BinUnicode8 => {
                let length = u64::from_le_bytes(self.bytes()?);
                self.text(length)?
            }
            Opcode::ShortBinBytes => {
                let [length] = self.bytes()?;
                self.skip(length.into())?
            }
            Opcode::BinBytes => {
                let length = u32::from_le_bytes(self.bytes()?);
                self.skip(length.into())?
            }
            Opcode::BinBytes8 | Opcode::ByteArray8 => {
                let length = u64::from_le_bytes(self.bytes()?);
                self.skip(length)?
            }
            _ => Argument::Nothing,
        };
        Ok((opcode, argument))
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], LogError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), LogError> {
        self.source.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => self.wrong(PickleError::Truncated),
            _ => error.into(),
        })?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn protocol(&mut self) -> Result<Argument<'static>, LogError> {
        match self.bytes()? {
            [0..=5] => Ok(Argument::Nothing),
            [version] => Err(self.wrong(PickleError::Protocol { version })),
        }
    }

    /// Reads an integer of `length` bytes in little-endian two's complement.
    fn long(&mut self, length: u64) -> Result<Argument<'static>, LogError> {
        let mut bytes = [0; 255];
        let Some(bytes) = usize::try_from(length).ok().and_then(|length| bytes.get_mut(..length))
        else {
            self.skip(length)?;
            return Ok(Argument::Int(Number::Huge));
        };
        self.fill(bytes)?;
        Ok(Argument::Int(Number::from_le_bytes(bytes)))
    }

    fn text(&mut self, length: u64) -> Result<Argument<'_>, LogError> {
        if length > MOST_TEXT {
            let what = "bytes in one text";
            return Err(self.wrong(PickleError::TooMany { what, limit: MOST_TEXT }));
        }
        self.text.clear();
        // Memory is allocated only for bytes that exist, and not for the length that the pickle
        // states.
        let read = self.source.by_ref().take(length).read_to_end(&mut self.text)? as u64;
        self.at += read;
        if read < length {
            return Err(self.wrong(PickleError::Truncated));
        }
        let offset = self.offset;
        let wrong = |_| LogError::Pickle { offset, error: PickleError::Encoding };
        std::str::from_utf8(&self.text).map(Argument::Text).map_err(wrong)
    }

    fn skip(&mut self, length: u64) -> Result<Argument<'static>, LogError> {
        let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
        self.at += skipped;
        if skipped < length {
            return Err(self.wrong(PickleError::Truncated));
        }
        Ok(Argument::Nothing)
    }
}
