//! The lines of a text, one at a time, of bounded length.

use std::io::{BufRead, Read as _};

use super::error::LogError;

/// The bytes that a line may have.
const MOST_BYTES: u64 = 1 << 20;

/// The lines of a source.
#[derive(Debug)]
pub(super) struct Lines<'a, R> {
    source: &'a mut R,
    line: u64,
    bytes: Vec<u8>,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(source: &'a mut R) -> Self {
        Self { source, line: 0, bytes: Vec::new() }
    }

    /// The next line that is not blank, with its number, and without what ends it.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, LogError> {
        loop {
            self.bytes.clear();
            let mut limited = self.source.by_ref().take(MOST_BYTES + 1);
            if limited.read_until(b'\n', &mut self.bytes)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        let line = self.line;
        if self.bytes.len() as u64 > MOST_BYTES {
            return Err(LogError::line(line, format!("more than {MOST_BYTES} bytes in one line")));
        }
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|error| LogError::line(line, format!("this is not UTF-8: {error}")))?;
        let text = if line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        Ok(Some((line, text.trim())))
    }
}
