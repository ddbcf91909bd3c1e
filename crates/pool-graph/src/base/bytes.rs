//! Formats table rows with a name on the left and a number on the right.

use std::fmt;

/// Writes one row of a table.
pub(crate) fn row(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<18} {value:>12}")
}

/// A byte count, printed with a binary unit.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let (mut whole, mut rest, mut unit) = (self.0, 0, None);
        for name in UNITS {
            if whole < 1024 {
                break;
            }
            (rest, whole, unit) = (whole % 1024, whole / 1024, Some(name));
        }
        match unit {
            None => f.pad(&format!("{whole} B")),
            Some(unit) => f.pad(&format!("{whole}.{} {unit}", rest * 10 / 1024)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn binary_units() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (16 << 20, "16.0 MiB"),
            (5 << 29, "2.5 GiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }
}
