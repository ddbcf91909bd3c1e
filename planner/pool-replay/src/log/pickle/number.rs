//! The integers in a pickle of a snapshot. All integers have at most 64 bits, and a larger number
//! is an error.

use std::fmt;

/// A number in an entry or a dictionary.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Number {
    /// The key is missing.
    #[default]
    Missing,
    /// The value is a text, a list, a float or `None`.
    NotInteger,
    /// A signed 64-bit integer.
    Int(i64),
    /// An integer between 2^63 and 2^64 - 1.
    Large(u64),
    /// An integer that does not fit in 64 bits.
    Huge,
}

/// The reason why a value is not a number that a snapshot can contain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NumberError {
    Missing,
    NotInteger,
    Negative(i64),
    /// The number needs more bits than the field has. A field has 64 bits, or 63 bits if it is
    /// signed.
    TooLarge(u32),
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing"),
            Self::NotInteger => f.write_str("is not an integer"),
            Self::Negative(number) => write!(f, "is {number}, which is negative"),
            Self::TooLarge(bits) => write!(f, "is an integer of more than {bits} bits"),
        }
    }
}

impl Number {
    /// Returns the integer that `bytes` represent, in little-endian two's complement.
    pub(super) fn from_le_bytes(bytes: &[u8]) -> Self {
        let is_negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
        let fill = if is_negative { 0xff } else { 0 };
        let mut low = [fill; 16];
        let kept = bytes.len().min(16);
        low[..kept].copy_from_slice(&bytes[..kept]);
        if bytes[kept..].iter().any(|&byte| byte != fill) {
            return Self::Huge;
        }
        let number = i128::from_le_bytes(low);
        // The last byte determines the sign, even if only 16 bytes are stored.
        if (number < 0) != is_negative {
            return Self::Huge;
        }
        match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => Self::Int(number),
            (Err(_), Ok(number)) => Self::Large(number),
            (Err(_), Err(_)) => Self::Huge,
        }
    }

    /// Returns the number if it lies between 0 and 2^64 - 1.
    pub(crate) fn unsigned(self) -> Result<u64, NumberError> {
        match self {
            Self::Int(number) => u64::try_from(number).map_err(|_| NumberError::Negative(number)),
            Self::Large(number) => Ok(number),
            Self::Huge => Err(NumberError::TooLarge(64)),
            Self::NotInteger => Err(NumberError::NotInteger),
            Self::Missing => Err(NumberError::Missing),
        }
    }

    /// Returns the number if it lies between -2^63 and 2^63 - 1.
    pub(crate) fn signed(self) -> Result<i64, NumberError> {
        match self {
            Self::Int(number) => Ok(number),
            Self::Large(_) | Self::Huge => Err(NumberError::TooLarge(63)),
            Self::NotInteger => Err(NumberError::NotInteger),
            Self::Missing => Err(NumberError::Missing),
        }
    }

    /// Returns the 64 bits of a handle, which may be written as a signed or an unsigned number. A
    /// missing handle is 0.
    pub(crate) fn bits(self) -> Result<u64, NumberError> {
        match self {
            Self::Int(number) => Ok(u64::from_le_bytes(number.to_le_bytes())),
            Self::Missing => Ok(0),
            _ => self.unsigned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    /// Integers of every length are read in the same way as by Python's `int.from_bytes`.
    #[test]
    fn integers_of_every_length() {
        let of = Number::from_le_bytes;
        assert_eq!(of(&[]), Number::Int(0));
        assert_eq!(of(&[0x80]), Number::Int(-128));
        assert_eq!(of(&[0x80, 0]), Number::Int(128));
        assert_eq!(of(&i64::MAX.to_le_bytes()), Number::Int(i64::MAX));
        assert_eq!(of(&i64::MIN.to_le_bytes()), Number::Int(i64::MIN));
        let nine = |number: u64| [&number.to_le_bytes()[..], &[0]].concat();
        assert_eq!(of(&nine(1 << 63)), Number::Large(1 << 63));
        assert_eq!(of(&nine(u64::MAX)), Number::Large(u64::MAX));
        assert_eq!(of(&nine(7)), Number::Int(7));
        assert_eq!(of(&[0, 0, 0, 0, 0, 0, 0, 0, 1]), Number::Huge);
        assert_eq!(of(&[0, 0, 0, 0, 0, 0, 0, 0, 0xff]), Number::Huge);
        let long = |first: u8, fill: u8, length: usize| {
            let mut bytes = vec![fill; length];
            bytes[0] = first;
            of(&bytes)
        };
        assert_eq!(long(5, 0, 255), Number::Int(5));
        assert_eq!(long(0xfe, 0xff, 255), Number::Int(-2));
        let mut wide = [0; 17];
        wide[15] = 0x80;
        assert_eq!(of(&wide), Number::Huge);
        wide[15] = 0;
        wide[16] = 1;
        assert_eq!(of(&wide), Number::Huge);
    }
}
