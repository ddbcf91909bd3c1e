//! The parts of a format string: text and conversions.

use super::BUFFER;

/// A part of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'f> {
    /// Text that is printed unchanged.
    Text(&'f [u8]),
    /// A conversion, with the text from which it was parsed.
    Conversion(Conversion, &'f [u8]),
    /// Text that begins like a conversion, but is not one.
    Unknown(&'f [u8]),
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Number(usize),
    /// `*`: the number is passed as an argument.
    Argument,
}

/// A conversion as written in the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(super) alternate: bool,
    pub(super) space: bool,
    pub(super) plus: bool,
    pub(super) left: bool,
    pub(super) zeros: bool,
    pub(super) width: Option<Count>,
    pub(super) precision: Option<Count>,
    pub(super) size: Size,
    pub(super) letter: u8,
}

/// The size of an integer argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Short,
    Int,
    /// `l` and `ll`, which both mean 64 bits.
    Long,
}

/// The argument of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Bytes(usize),
    /// The address of a text.
    Text,
    /// `%%`, which takes no argument.
    None,
}

/// Splits a format into its parts, in order.
pub(crate) fn pieces(format: &[u8]) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), format);
    while !rest.is_empty() {
        let text = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
        if text > 0 {
            pieces.push(Piece::Text(&rest[..text]));
            rest = &rest[text..];
            continue;
        }
        let mut reader = Reader { bytes: rest, at: 1 };
        let conversion = reader.conversion();
        let (written, behind) = rest.split_at(reader.at);
        pieces.push(match conversion {
            Some(conversion) => Piece::Conversion(conversion, written),
            None => Piece::Unknown(written),
        });
        rest = behind;
    }
    pieces
}

struct Reader<'f> {
    bytes: &'f [u8],
    at: usize,
}

impl Reader<'_> {
    fn next_is(&mut self, wanted: u8) -> bool {
        let is = self.bytes.get(self.at) == Some(&wanted);
        self.at += usize::from(is);
        is
    }

    fn conversion(&mut self) -> Option<Conversion> {
        let mut found = Conversion {
            alternate: false,
            space: false,
            plus: false,
            left: false,
            zeros: false,
            width: None,
            precision: None,
            size: Size::Int,
            letter: 0,
        };
        loop {
            let flag = match self.bytes.get(self.at)? {
                b'#' => &mut found.alternate,
                b' ' => &mut found.space,
                b'+' => &mut found.plus,
                b'-' => &mut found.left,
                b'0' => &mut found.zeros,
                _ => break,
            };
            *flag = true;
            self.at += 1;
        }
        found.width = self.count();
        if self.next_is(b'.') {
            // A point without a number means a precision of 0.
            found.precision = Some(self.count().unwrap_or(Count::Number(0)));
        }
        if self.next_is(b'h') {
            found.size = Size::Short;
        } else if self.next_is(b'l') {
            found.size = Size::Long;
            self.next_is(b'l');
        }
        found.letter = *self.bytes.get(self.at)?;
        self.at += 1;
        let too_large =
            |count: Option<Count>| matches!(count, Some(Count::Number(n)) if n > BUFFER);
        let known = b"%cdiouxXpeEfgGaAs".contains(&found.letter);
        (known && !too_large(found.width) && !too_large(found.precision)).then_some(found)
    }

    fn count(&mut self) -> Option<Count> {
        if self.next_is(b'*') {
            return Some(Count::Argument);
        }
        let rest = &self.bytes[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        let number = rest[..digits].iter().fold(0_usize, |number, digit| {
            number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
        });
        self.at += digits;
        Some(Count::Number(number))
    }
}

impl Conversion {
    /// Returns the number of arguments for the width and the precision. Each has 4 bytes and
    /// precedes the conversion's own argument.
    pub(crate) fn counts(&self) -> usize {
        let counts = [self.width, self.precision];
        counts.into_iter().filter(|count| *count == Some(Count::Argument)).count()
    }

    /// Returns the kind of argument that the conversion takes.
    pub(crate) fn argument(&self) -> Argument {
        match self.letter {
            b'%' => Argument::None,
            b's' => Argument::Text,
            b'c' => Argument::Bytes(4),
            b'p' | b'e' | b'E' | b'f' | b'g' | b'G' | b'a' | b'A' => Argument::Bytes(8),
            _ if self.size == Size::Long => Argument::Bytes(8),
            _ => Argument::Bytes(4),
        }
    }

    /// Replaces each `*` with the number from the next argument. Returns `None` if a number exceeds
    /// the size of the buffer.
    pub(crate) fn with_counts(mut self, counts: &[i32]) -> Option<Self> {
        let mut counts = counts.iter().copied();
        if self.width == Some(Count::Argument) {
            let width = counts.next()?;
            self.left |= width < 0;
            self.width = Some(Count::Number(within(width.unsigned_abs())?));
        }
        if self.precision == Some(Count::Argument) {
            let precision = counts.next()?;
            self.precision = match u32::try_from(precision) {
                Ok(precision) => Some(Count::Number(within(precision)?)),
                Err(_) => None,
            };
        }
        Some(self)
    }

    /// Returns the precision that was written in the format or passed as an argument.
    pub(crate) fn precision(&self) -> Option<usize> {
        number(self.precision)
    }
}

pub(super) fn number(count: Option<Count>) -> Option<usize> {
    match count {
        Some(Count::Number(number)) => Some(number),
        _ => None,
    }
}

fn within(count: u32) -> Option<usize> {
    usize::try_from(count).ok().filter(|count| *count <= BUFFER)
}
