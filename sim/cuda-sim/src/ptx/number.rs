//! Numbers as PTX writes them: decimal, hexadecimal, octal, binary, and floats given by their bits.

use super::syntax::Operand;

/// Returns the low 64 bits of a signed number.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are requested")]
pub(super) fn low_bits(value: i128) -> u64 {
    value as u64
}

/// Parses a PTX number without its sign.
pub(super) fn number(text: &str) -> Option<Operand> {
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0f").filter(|digits| digits.len() == 8) {
        return Some(Operand::Float32(u32::from_str_radix(digits, 16).ok()?));
    }
    if let Some(digits) = lower.strip_prefix("0d").filter(|digits| digits.len() == 16) {
        return hex(digits).map(Operand::Float64);
    }
    if let Some(digits) = lower.strip_prefix("0x") {
        return hex(digits.trim_end_matches('u')).map(|value| Operand::Integer(value.into()));
    }
    if let Some(digits) = lower.strip_prefix("0b") {
        let value = u64::from_str_radix(digits.trim_end_matches('u'), 2).ok()?;
        return Some(Operand::Integer(value.into()));
    }
    if lower.contains('.') {
        return lower.parse::<f64>().ok().map(|value| Operand::Float64(value.to_bits()));
    }
    let digits = lower.trim_end_matches('u');
    let octal = digits.len() > 1 && digits.starts_with('0');
    let value = u64::from_str_radix(digits, if octal { 8 } else { 10 }).ok()?;
    Some(Operand::Integer(value.into()))
}

#[cfg(test)]
mod tests {
    use super::{Operand, number};

    #[test]
    fn numbers_are_read_as_ptx_writes_them() {
        assert_eq!(number("0f3F800000"), Some(Operand::Float32(0x3F80_0000)));
        assert_eq!(number("0d3FF0000000000000"), Some(Operand::Float64(1_f64.to_bits())));
        assert_eq!(number("0x1F"), Some(Operand::Integer(31)));
        assert_eq!(number("017"), Some(Operand::Integer(15)));
        assert_eq!(number("4294967295U"), Some(Operand::Integer(0xFFFF_FFFF)));
        assert_eq!(number("1.5"), Some(Operand::Float64(1.5_f64.to_bits())));
        assert_eq!(number("0b101"), Some(Operand::Integer(5)));
        assert_eq!(number("12q"), None);
    }
}
