//! Formats the argument of a conversion.

use super::conversion::{Conversion, number};
use super::{float, padded, whole};

impl Conversion {
    /// Formats a number that is stored in the low bits.
    pub(crate) fn number(&self, bits: u64) -> Vec<u8> {
        match self.letter {
            b'c' => self.plain(&bits.to_le_bytes()[..1]),
            b'p' if bits == 0 => self.plain(b"(nil)"),
            b'e' | b'E' | b'f' | b'g' | b'G' | b'a' | b'A' => {
                let (prefix, body, is_finite) = float::written(self, f64::from_bits(bits));
                // Infinity is not padded with zeros.
                let own = Self { zeros: self.zeros && is_finite, ..self.clone() };
                padded(&own, number(self.width).unwrap_or(0), &prefix, &body)
            }
            _ => {
                let (prefix, body) = whole::written(self, bits);
                let own = Self { zeros: self.zeros && self.precision.is_none(), ..self.clone() };
                padded(&own, number(self.width).unwrap_or(0), &prefix, &body)
            }
        }
    }

    /// Formats a text. `None` stands for a null address.
    pub(crate) fn text(&self, text: Option<&[u8]>) -> Vec<u8> {
        let text = text.unwrap_or(b"(null)");
        self.plain(&text[..self.precision().unwrap_or(usize::MAX).min(text.len())])
    }

    fn plain(&self, text: &[u8]) -> Vec<u8> {
        let own = Self { zeros: false, ..self.clone() };
        padded(&own, number(self.width).unwrap_or(0), b"", text)
    }
}
