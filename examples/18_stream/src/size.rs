//! The size of a frame.

use std::fmt;
use std::str::FromStr;

/// The size of a frame in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number of pixels from left to right.
    pub width: usize,
    /// The number of pixels from top to bottom.
    pub height: usize,
}

impl Size {
    /// The minimum width and height: even the smallest level of the pyramid must have an interior.
    const LEAST: usize = 32;
    /// The maximum width and height.
    const MOST: usize = 8_192;

    /// Returns the number of pixels.
    #[must_use]
    pub fn pixels(self) -> usize {
        self.width * self.height
    }

    /// Returns the size after halving both lengths `times` times.
    #[must_use]
    pub fn halved(self, times: usize) -> Self {
        Self { width: self.width >> times, height: self.height >> times }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}x{}", self.width, self.height)
    }
}

/// Parses a size such as `640x480`.
impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse().ok().filter(|n| (Self::LEAST..=Self::MOST).contains(n));
        let (width, height) = text.split_once('x').ok_or("a size has the form 640x480")?;
        number(width).zip(number(height)).map(|(width, height)| Self { width, height }).ok_or_else(
            || format!("both numbers in {text} must be from {} to {}", Self::LEAST, Self::MOST),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn a_size_reads_back() {
        let size = Size { width: 640, height: 480 };
        assert_eq!(size.to_string().parse(), Ok(size));
        assert_eq!(size.halved(3), Size { width: 80, height: 60 });
        for wrong in ["640", "640x", "8x8", "99999x100", "axb"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
