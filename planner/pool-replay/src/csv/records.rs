//! Reads the records and fields of a text, with their positions. `csv-core` parses quoted fields.
//! The module counts positions, skips blank lines, and trims blanks around unquoted fields.

use std::borrow::Cow;

use csv_core::{ReadFieldResult, Reader};

use super::CsvError;

/// The maximum number of fields of a record that are stored. No file needs more columns.
const MOST_FIELDS: usize = 256;

/// A line of fields. A record has several lines if a quoted field contains line ends.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub(super) line: usize,
    /// The fields of the record. If there are too many fields, only the first ones are stored.
    pub(super) fields: Vec<Field<'a>>,
    /// The number of fields in the record, including those that are not stored.
    pub(super) count: usize,
    /// The column after the last field.
    pub(super) end: usize,
}

impl Record<'_> {
    fn is_blank(&self) -> bool {
        self.count == 1 && self.fields[0].text.trim().is_empty()
    }
}

/// A field and its position.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    /// The text of the field, without its quotes or the blanks around it.
    pub(super) text: Cow<'a, str>,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Field<'_> {
    pub(super) fn wrong(&self, message: impl Into<String>) -> CsvError {
        CsvError::Field { line: self.line, column: self.column, message: message.into() }
    }

    pub(super) fn number<T: std::str::FromStr>(&self, what: &str) -> Result<T, CsvError> {
        self.text.parse().map_err(|_| {
            self.wrong(format!("{what}: {:?} is not a whole number of at most 64 bits", self.text))
        })
    }
}

/// The records of a text, except blank lines.
pub(super) struct Records<'a> {
    text: &'a str,
    reader: Reader,
    /// The position of the remaining bytes, and the line and column at which they start.
    at: usize,
    line: usize,
    column: usize,
    unquoted: Vec<u8>,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let unquoted = vec![0; 64];
        Self { text, reader: Reader::new(), at: 0, line: 1, column: 1, unquoted }
    }

    /// Advances by `bytes` bytes, and counts lines and columns.
    fn advance(&mut self, bytes: usize) {
        let end = self.at + bytes;
        let mut letters = self.text[self.at..end].chars().peekable();
        while let Some(letter) = letters.next() {
            // A single CR also ends a line.
            let next = letters.peek().copied().or_else(|| self.text[end..].chars().next());
            let is_end = letter == '\n' || letter == '\r' && next != Some('\n');
            (self.line, self.column) =
                if is_end { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        }
        self.at = end;
    }

    /// Returns the next field, and `true` if it is the last field of its record.
    fn field(&mut self) -> Option<(Field<'a>, bool)> {
        let (start, line, column) = (self.at, self.line, self.column);
        let (mut taken, mut made) = (0, 0);
        loop {
            let input = &self.text.as_bytes()[start + taken..];
            let output = &mut self.unquoted[made..];
            let (result, read, written) = self.reader.read_field(input, output);
            taken += read;
            made += written;
            match result {
                // The next input is empty, which signals the end.
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull => self.unquoted.resize(made * 2 + 64, 0),
                ReadFieldResult::End => return None,
                ReadFieldResult::Field { record_end } => {
                    self.advance(taken);
                    let raw = &self.text[start..start + taken];
                    let (text, indent) = if raw.starts_with('"') {
                        let text = String::from_utf8_lossy(&self.unquoted[..made]);
                        (Cow::Owned(text.into_owned()), 0)
                    } else {
                        let raw = raw.strip_suffix([',', '\r', '\n']).unwrap_or(raw);
                        let text = raw.trim_start();
                        let indent = raw[..raw.len() - text.len()].chars().count();
                        (Cow::Borrowed(text.trim_end()), indent)
                    };
                    return Some((Field { text, line, column: column + indent }, record_end));
                }
            }
        }
    }

    fn record(&mut self) -> Option<Record<'a>> {
        let rest = &self.text[self.at..];
        self.advance(rest.len() - rest.trim_start_matches(['\r', '\n']).len());
        let mut record = Record { line: self.line, fields: Vec::new(), count: 0, end: 0 };
        while let Some((field, is_last)) = self.field() {
            record.count += 1;
            let length = field.text.chars().count();
            record.end = field.column + length;
            if record.fields.len() < MOST_FIELDS {
                record.fields.push(field);
            }
            if is_last {
                return Some(record);
            }
        }
        None
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        loop {
            let record = self.record()?;
            if !record.is_blank() {
                return Some(record);
            }
        }
    }
}

/// Returns a text as a field that can be read back unchanged. The field is quoted if the text
/// contains a comma, a quote, a line end, or blanks at either end.
#[must_use]
pub fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\r', '\n']) || text.trim().len() < text.len() {
        return Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")));
    }
    Cow::Borrowed(text)
}
