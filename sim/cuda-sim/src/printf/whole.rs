//! Formats integers and pointers.

use super::conversion::{Conversion, Size};

/// Returns the leading sign or base, and the digits.
pub(super) fn written(conversion: &Conversion, bits: u64) -> (Vec<u8>, Vec<u8>) {
    let letter = conversion.letter;
    if matches!(letter, b'd' | b'i') {
        let number = signed(conversion.size, bits);
        let sign: &[u8] = match () {
            () if number < 0 => b"-",
            () if conversion.plus => b"+",
            () if conversion.space => b" ",
            () => b"",
        };
        return (sign.to_vec(), digits(conversion, number.unsigned_abs().to_string()));
    }
    let number = match (letter, conversion.size) {
        (b'p', _) | (_, Size::Long) => bits,
        (_, Size::Int) => bits & 0xFFFF_FFFF,
        (_, Size::Short) => bits & 0xFFFF,
    };
    let alternate = conversion.alternate || letter == b'p';
    let text = match letter {
        b'o' => format!("{number:o}"),
        b'x' | b'p' => format!("{number:x}"),
        b'X' => format!("{number:X}"),
        _ => number.to_string(),
    };
    let prefix: &[u8] = match letter {
        b'x' | b'p' if alternate && number != 0 => b"0x",
        b'X' if alternate && number != 0 => b"0X",
        _ => b"",
    };
    let mut digits = digits(conversion, text);
    if letter == b'o' && alternate && digits.first() != Some(&b'0') {
        digits.insert(0, b'0');
    }
    (prefix.to_vec(), digits)
}

fn signed(size: Size, bits: u64) -> i64 {
    let unused = match size {
        Size::Long => 0,
        Size::Int => 32,
        Size::Short => 48,
    };
    i64::from_ne_bytes((bits << unused).to_ne_bytes()) >> unused
}

/// Pads the digits to the precision. The value 0 with a precision of 0 has no digits.
fn digits(conversion: &Conversion, text: String) -> Vec<u8> {
    let Some(precision) = conversion.precision() else { return text.into_bytes() };
    if precision == 0 && text == "0" {
        return Vec::new();
    }
    let zeros = vec![b'0'; precision.saturating_sub(text.len())];
    [zeros, text.into_bytes()].concat()
}
