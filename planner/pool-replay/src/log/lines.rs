//! Reads the lines of a text one by one, with a limit on their length. A line ends with LF, CR LF
//! or a single CR.

use std::io::BufRead;

use super::error::LogError;

/// The maximum length of a line in bytes.
const MOST_BYTES: usize = 1 << 20;

/// The lines of a source.
#[derive(Debug)]
pub(super) struct Lines<'a, R> {
    source: &'a mut R,
    line: u64,
    bytes: Vec<u8>,
    /// `true` if the last line ended with CR. If an LF follows, it belongs to the same line end.
    after_cr: bool,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(source: &'a mut R) -> Self {
        Self { source, line: 0, bytes: Vec::new(), after_cr: false }
    }

    /// Returns the next line that is not blank, with its number and without its line end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, LogError> {
        loop {
            if !self.read()? {
                return Ok(None);
            }
            self.line += 1;
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        let line = self.line;
        if self.bytes.len() > MOST_BYTES {
            return Err(LogError::line(line, format!("the line has more than {MOST_BYTES} bytes")));
        }
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|error| LogError::line(line, format!("the line is not UTF-8: {error}")))?;
        let text = if line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        Ok(Some((line, text.trim())))
    }

    /// Reads a line without its line end. If the line is too long, the function reads slightly more
    /// than the maximum. Returns `false` at the end of the text.
    fn read(&mut self) -> Result<bool, LogError> {
        self.bytes.clear();
        loop {
            let mut bytes = match self.source.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            if bytes.is_empty() {
                return Ok(!self.bytes.is_empty());
            }
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                self.source.consume(1);
                continue;
            }
            let room = MOST_BYTES + 1 - self.bytes.len();
            bytes = &bytes[..bytes.len().min(room)];
            let end = bytes.iter().position(|&byte| matches!(byte, b'\n' | b'\r'));
            let taken = end.unwrap_or(bytes.len());
            self.bytes.extend_from_slice(&bytes[..taken]);
            if let Some(end) = end {
                self.after_cr = bytes[end] == b'\r';
                self.source.consume(end + 1);
                return Ok(true);
            }
            self.source.consume(taken);
            if self.bytes.len() > MOST_BYTES {
                return Ok(true);
            }
        }
    }
}
