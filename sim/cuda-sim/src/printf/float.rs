//! Floating-point numbers: decimal, with an exponent, in the shorter of both forms, and in base 16.

use super::conversion::Conversion;

/// The number of digits after which an `f64` only has zeros.
const DIGITS: usize = 1100;
/// The number of bits in the fraction, and the number of its digits in base 16.
const FRACTION: usize = 52;
const HEX_DIGITS: usize = FRACTION / 4;

/// Returns the leading sign and base, the digits, and `true` if the number is finite.
pub(super) fn written(conversion: &Conversion, value: f64) -> (Vec<u8>, Vec<u8>, bool) {
    let sign = match () {
        () if value.is_sign_negative() => "-",
        () if conversion.plus => "+",
        () if conversion.space => " ",
        () => "",
    };
    let value = value.abs();
    let letter = conversion.letter.to_ascii_lowercase();
    let (mut prefix, mut body) = match letter {
        _ if value.is_nan() => (sign.to_owned(), "nan".to_owned()),
        _ if value.is_infinite() => (sign.to_owned(), "inf".to_owned()),
        b'a' => (format!("{sign}0x"), hexadecimal(conversion, value)),
        b'e' => (
            sign.to_owned(),
            exponential(value, conversion.precision().unwrap_or(6), conversion.alternate),
        ),
        b'f' => (
            sign.to_owned(),
            decimal(value, conversion.precision().unwrap_or(6), conversion.alternate),
        ),
        _ => (sign.to_owned(), shorter(conversion, value)),
    };
    if conversion.letter.is_ascii_uppercase() {
        prefix.make_ascii_uppercase();
        body.make_ascii_uppercase();
    }
    (prefix.into_bytes(), body.into_bytes(), value.is_finite())
}

fn decimal(value: f64, precision: usize, alternate: bool) -> String {
    let exact = precision.min(DIGITS);
    let mut text = format!("{value:.exact$}");
    if precision == 0 && alternate {
        text.push('.');
    }
    text + &"0".repeat(precision - exact)
}

/// Returns the digits before the exponent, and the exponent.
fn scientific(value: f64, precision: usize) -> (String, i32) {
    let exact = precision.min(DIGITS);
    let text = format!("{value:.exact$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned() + &"0".repeat(precision - exact), exponent.parse().unwrap_or(0))
}

fn exponential(value: f64, precision: usize, alternate: bool) -> String {
    let (mut digits, exponent) = scientific(value, precision);
    if precision == 0 && alternate {
        digits.push('.');
    }
    with_exponent(&digits, exponent)
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// Formats for `%g`: uses an exponent if the exponent is below -4 or at least the precision.
fn shorter(conversion: &Conversion, value: f64) -> String {
    let wanted = conversion.precision().unwrap_or(6).max(1);
    let (digits, exponent) = scientific(value, wanted - 1);
    let places = i64::try_from(wanted).unwrap_or(i64::MAX) - 1 - i64::from(exponent);
    if let (true, Ok(places)) = (exponent >= -4, usize::try_from(places)) {
        return trimmed(decimal(value, places, conversion.alternate), conversion.alternate);
    }
    let mut digits = digits;
    if wanted == 1 && conversion.alternate {
        digits.push('.');
    }
    with_exponent(&trimmed(digits, conversion.alternate), exponent)
}

/// Removes trailing zeros from a fraction.
fn trimmed(text: String, alternate: bool) -> String {
    if alternate || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats one digit, the fraction, and an exponent of 2. A subnormal number begins with the digit
/// 0.
fn hexadecimal(conversion: &Conversion, value: f64) -> String {
    let bits = value.to_bits();
    let stored = i32::try_from(bits >> FRACTION).unwrap_or(0);
    let exponent = match (stored, value == 0.0) {
        (_, true) => 0,
        (0, false) => -1022,
        _ => stored - 1023,
    };
    let mut mantissa = bits & ((1 << FRACTION) - 1) | u64::from(stored > 0) << FRACTION;
    let precision = conversion.precision();
    let kept = precision.unwrap_or(HEX_DIGITS).min(HEX_DIGITS);
    let lost = 4 * (HEX_DIGITS - kept);
    if lost > 0 {
        let half = 1_u64 << (lost - 1);
        let (rest, odd) = (mantissa & (2 * half - 1), mantissa >> lost & 1 == 1);
        mantissa >>= lost;
        mantissa += u64::from(rest > half || rest == half && odd);
        mantissa <<= lost;
    }
    let (first, fraction) = (mantissa >> FRACTION, mantissa & ((1 << FRACTION) - 1));
    let mut digits = format!("{fraction:0HEX_DIGITS$x}");
    match precision {
        Some(precision) => {
            digits.truncate(kept);
            digits += &"0".repeat(precision - kept);
        }
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let point = if digits.is_empty() && !conversion.alternate { "" } else { "." };
    format!("{first}{point}{digits}p{exponent:+}")
}
