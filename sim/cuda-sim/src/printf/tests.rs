//! Conversions, compared with the C library's `snprintf` and with cases of CUDA's guide.

use super::{Argument, BUFFER, Conversion, Piece, pieces};

/// Returns the only conversion of a format.
fn conversion(format: &str) -> Conversion {
    match pieces(format.as_bytes()).as_slice() {
        [Piece::Conversion(conversion, written)] if *written == format.as_bytes() => {
            conversion.clone()
        }
        other => panic!("{format:?} is {other:?}"),
    }
}

fn number(format: &str, bits: u64) -> String {
    String::from_utf8(conversion(format).number(bits)).unwrap()
}

#[test]
fn a_format_comes_apart_into_texts_and_conversions() {
    let format = b"a%d%%b%-5.3lld%";
    let kinds: Vec<&[u8]> = pieces(format)
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) | Piece::Conversion(_, text) | Piece::Unknown(text) => *text,
        })
        .collect();
    assert_eq!(kinds, [b"a".as_slice(), b"%d", b"%%", b"b", b"%-5.3lld", b"%"]);
    assert!(matches!(pieces(format).last(), Some(Piece::Unknown(b"%"))));
}

#[test]
fn what_the_guide_does_not_list_is_unknown_and_stays_as_it_is_written() {
    for format in ["%y", "%n", "%zd", "%hhd", "%Lf", "%", "%5", "%.", "%99999999999999999999d"] {
        let found = pieces(format.as_bytes());
        assert!(matches!(found.first(), Some(Piece::Unknown(_))), "{format}: {found:?}");
    }
    // No byte makes it panic.
    for byte in 0..=u8::MAX {
        assert!(!pieces(&[b'%', byte]).is_empty());
    }
}

#[test]
fn arguments_have_the_size_that_the_type_says() {
    let sizes = [("%d", 4), ("%hd", 4), ("%ld", 8), ("%llx", 8), ("%c", 4), ("%p", 8), ("%g", 8)];
    for (format, bytes) in sizes {
        assert_eq!(conversion(format).argument(), Argument::Bytes(bytes), "{format}");
    }
    assert_eq!(conversion("%s").argument(), Argument::Text);
    assert_eq!(conversion("%%").argument(), Argument::None);
    assert_eq!(conversion("%*.*f").counts(), 2);
}

#[test]
fn a_width_and_a_precision_can_be_arguments() {
    let with = |counts: &[i32]| conversion("%*.*f").with_counts(counts);
    let text = |counts| String::from_utf8(with(counts).unwrap().number(1.5_f64.to_bits())).unwrap();
    assert_eq!(text(&[8, 2]), "    1.50");
    assert_eq!(text(&[-8, -1]), "1.500000");
    assert_eq!(text(&[-9, 1]), "1.5      ");
    let too_wide = i32::try_from(BUFFER).unwrap() + 1;
    assert!(with(&[too_wide, 0]).is_none() && with(&[0, too_wide]).is_none());
    assert!(with(&[i32::MIN, 0]).is_none());
}

#[test]
fn texts_and_characters() {
    let text = |format, text: Option<&[u8]>| conversion(format).text(text);
    assert_eq!(text("%s", Some(b"abc")), b"abc");
    assert_eq!(text("%5.2s", Some(b"abc")), b"   ab");
    assert_eq!(text("%-5s", Some(b"abc")), b"abc  ");
    assert_eq!(text("%s", None), b"(null)");
    assert_eq!(conversion("%3c").number(0x41), b"  A");
    assert_eq!(number("%p", 0), "(nil)");
    assert_eq!(number("%p", 0x12AB), "0x12ab");
}

#[test]
fn the_shorter_form_keeps_its_zeros_where_that_is_asked_for() {
    let text = |format, value: f64| number(format, value.to_bits());
    assert_eq!(text("%#g", 1.5), "1.50000");
    assert_eq!(text("%#g", 999_999.5), "1.00000e+06");
    assert_eq!(text("%#.1g", 1e5), "1.e+05");
    assert_eq!(text("%#.3G", 0.000_012_5), "1.25E-05");
    assert_eq!(text("%#.0g", 0.0), "0.");
}

#[test]
fn the_largest_widths_and_precisions_are_filled() {
    let most = format!("%.{BUFFER}f");
    assert_eq!(number(&most, 1.5_f64.to_bits()).len(), BUFFER + 2);
    assert_eq!(number(&format!("%{BUFFER}d"), 7).len(), BUFFER);
}

/// Compares with glibc. Other C libraries differ where the standard allows it, such as in subnormal
/// numbers in base 16.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod beside_the_c_library {
    use std::ffi::{CString, c_char, c_int};

    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};

    use super::{Argument, conversion};

    unsafe extern "C" {
        fn snprintf(buffer: *mut c_char, bytes: usize, format: *const c_char, ...) -> c_int;
    }

    /// Returns the output of the C library.
    fn expected(format: &str, bits: u64) -> String {
        let text = CString::new(format).unwrap();
        let mut buffer = [0_u8; 4096];
        let place = buffer.as_mut_ptr().cast::<c_char>();
        let (format, capacity) = (text.as_ptr(), buffer.len());
        let is_float = b"eEfgGaA".contains(text.as_bytes().last().unwrap());
        let written = if is_float {
            // SAFETY: the buffer has `capacity` bytes, the format ends with a zero byte and takes one
            // `double`.
            unsafe { snprintf(place, capacity, format, f64::from_bits(bits)) }
        } else {
            // SAFETY: as above. The format takes one whole number of at most 64 bits, passed as one
            // of 64 bits. A smaller number is its low bits on all processors that the simulator is
            // tested on.
            unsafe { snprintf(place, capacity, format, bits) }
        };
        let written = usize::try_from(written).unwrap();
        assert!(written < capacity, "{written} bytes of {text:?}");
        String::from_utf8(buffer[..written].to_vec()).unwrap()
    }

    fn formats(letters: &'static [char]) -> impl Strategy<Value = String> {
        let flags = subsequence(vec!["#", " ", "0", "+", "-"], 0..=5);
        let width = prop_oneof![Just(String::new()), (0..40_usize).prop_map(|n| n.to_string())];
        let precision = prop_oneof![
            Just(String::new()),
            Just(".".to_owned()),
            (0..40_usize).prop_map(|n| format!(".{n}"))
        ];
        let size = select(vec!["", "h", "l", "ll"]);
        (flags, width, precision, size, select(letters)).prop_map(
            |(flags, width, precision, size, letter)| {
                // A width does not begin with a flag.
                let width = width.trim_start_matches('0');
                let size = if "eEfgGaAp".contains(letter) { "" } else { size };
                format!("%{}{width}{precision}{size}{letter}", flags.concat())
            },
        )
    }

    fn wholes() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            0..100_u64,
            Just(u64::MAX),
            Just(1 << 31),
            Just(1 << 63),
            Just(0xFFFF)
        ]
    }

    fn floats() -> impl Strategy<Value = f64> {
        let edges =
            [0.0, 0.5, 1.5, 2.5, 9.5, 99.95, 1e5, 999_999.5, 1e-5, f64::MAX, f64::MIN_POSITIVE];
        let ties = (-1_000_000..1_000_000_i32).prop_map(|n| f64::from(n) / 64.0);
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            select(edges.to_vec()),
            ties,
            -1e6..1e6,
            Just(f64::INFINITY),
            Just(-0.0),
            Just(f64::from_bits(1)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn whole_numbers_are_written_as_there(
            format in formats(&['d', 'i', 'o', 'u', 'x', 'X', 'p']),
            bits in wholes(),
        ) {
            prop_assume!(!format.ends_with('p') || (bits != 0 && format == "%p"));
            let of = conversion(&format);
            let Argument::Bytes(bytes) = of.argument() else { panic!("{format}") };
            let passed = if bytes == 4 { bits & 0xFFFF_FFFF } else { bits };
            prop_assert_eq!(String::from_utf8(of.number(passed)).unwrap(), expected(&format, passed));
        }

        #[test]
        fn numbers_with_a_point_are_written_as_there(
            format in formats(&['e', 'E', 'f', 'g', 'G', 'a', 'A']),
            value in floats(),
        ) {
            // There it loses the zeros that `#` keeps, if rounding carries into another digit: glibc writes 999999.5 as
            // `1.e+06`. A test below covers the standard's rule for `#`.
            prop_assume!(!(format.contains('#') && format.to_ascii_lowercase().ends_with('g')));
            let bits = value.to_bits();
            let written = String::from_utf8(conversion(&format).number(bits)).unwrap();
            prop_assert_eq!(written, expected(&format, bits), "{} of {:?}", format, value);
        }
    }
}
