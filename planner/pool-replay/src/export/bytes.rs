//! Formats numbers of bytes for people.

use std::fmt;

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A number of bytes that is formatted in the largest binary unit that does not exceed it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes(pub(super) u64);

impl fmt::Display for Bytes {
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut number, mut unit) = (self.0 as f64, None);
        for name in UNITS {
            if number < 1024.0 {
                break;
            }
            (number, unit) = (number / 1024.0, Some(name));
        }
        match unit {
            Some(unit) => write!(f, "{number:.2} {unit}"),
            None => write!(f, "{number} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn bytes_have_the_largest_unit() {
        let shown = |bytes| Bytes(bytes).to_string();
        assert_eq!([shown(0), shown(1023), shown(1024)], ["0 B", "1023 B", "1.00 KiB"]);
        assert_eq!(shown(3 << 19), "1.50 MiB");
        assert_eq!(shown(u64::MAX), "16.00 EiB");
    }
}
