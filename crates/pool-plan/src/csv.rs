//! `MiniMalloc`'s CSV: one buffer a line, columns named by a header.
//!
//! Columns: `id` (also `buffer`, `buffer_id`), `lower` (also `begin`, `start`), `upper` or the
//! older `end`, which is inclusive, `size`, and optionally `alignment`, `gaps`
//! (`2-5 8-9`, separated by spaces), `offset` and `hint`, which is ignored.

use std::fmt::Write as _;

use crate::error::PlanError;
use crate::interval::{Buffer, Gap, IntervalProblem};
use crate::validate::Violation;

/// Which column holds what.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Column {
    Id,
    Lower,
    Upper,
    /// As `Upper`, but the last time at which the buffer is live.
    End,
    Size,
    Alignment,
    Gaps,
    Offset,
    Hint,
}

impl Column {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "id" | "buffer" | "buffer_id" => Self::Id,
            "lower" | "begin" | "start" => Self::Lower,
            "upper" => Self::Upper,
            "end" => Self::End,
            "size" => Self::Size,
            "alignment" => Self::Alignment,
            "gaps" => Self::Gaps,
            "offset" => Self::Offset,
            "hint" => Self::Hint,
            _ => return None,
        })
    }

    /// What it holds, whatever it is called.
    fn role(self) -> Self {
        if self == Self::End { Self::Upper } else { self }
    }
}

/// How to read the columns that can mean two things.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CsvOptions {
    /// Offsets are where buffers must be placed; otherwise they are ignored.
    pub fixed: bool,
    /// The least alignment of every buffer, if not 1.
    pub alignment: Option<u64>,
}

/// A field of a line, and where it begins.
#[derive(Clone, Copy)]
struct Field<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

impl Field<'_> {
    fn wrong(&self, message: impl Into<String>) -> PlanError {
        PlanError::Parse { line: self.line, column: self.column, message: message.into() }
    }

    fn number<T: std::str::FromStr>(&self, what: &str) -> Result<T, PlanError> {
        self.text.parse().map_err(|_| {
            self.wrong(format!("{what}: {:?} is no whole number that fits 64 bits", self.text))
        })
    }
}

fn fields(line: usize, text: &str) -> Vec<Field<'_>> {
    let mut column = 1;
    let mut fields = Vec::new();
    for part in text.trim_end_matches('\r').split(',') {
        let indent = part.chars().take_while(|letter| letter.is_whitespace()).count();
        fields.push(Field { text: part.trim(), line, column: column + indent });
        column += part.chars().count() + 1;
    }
    fields
}

/// Reads a problem.
///
/// # Errors
/// If the text is not such a file, with line and column; if its buffers are no problem.
pub fn read(text: &str, options: CsvOptions) -> Result<IntervalProblem, PlanError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let (line, header) = lines.next().ok_or(PlanError::Empty)?;
    let columns = columns(&fields(line, header))?;
    let mut buffers = Vec::new();
    let mut rows = Vec::new();
    for (line, text) in lines {
        let fields = fields(line, text);
        if fields.len() != columns.len() {
            let column =
                fields.get(columns.len()).map_or(text.chars().count() + 1, |one| one.column);
            let message = format!("{} fields for {} columns", fields.len(), columns.len());
            return Err(PlanError::Parse { line, column, message });
        }
        buffers.push(buffer(&columns, &fields, options)?);
        rows.push((line, text));
    }
    IntervalProblem::new(buffers).map_err(|error| located(error, &columns, &rows))
}

/// An error of the problem, with the line and the field that it is about.
fn located(error: PlanError, columns: &[Column], rows: &[(usize, &str)]) -> PlanError {
    let at_id = columns.iter().position(|&column| column == Column::Id).unwrap_or(0);
    let named = |id: &str| {
        let is_named = |(line, text): &(usize, &str)| {
            fields(*line, text).get(at_id).is_some_and(|field| field.text == id)
        };
        rows.iter().position(is_named)
    };
    let (row, role) = match &error {
        PlanError::InvertedLifetime { id, .. } => (named(id), Column::Upper),
        PlanError::BadGap { id, .. } => (named(id), Column::Gaps),
        PlanError::BadAlignment { id, .. } => (named(id), Column::Alignment),
        PlanError::MisalignedOffset { id, .. } => (named(id), Column::Offset),
        PlanError::SizeOverflow { id, .. } => (named(id), Column::Size),
        PlanError::DuplicateId { second, .. }
        | PlanError::FixedOverlap(Violation::LiveTogether { second, .. }) => {
            let is_name = matches!(error, PlanError::DuplicateId { .. });
            (Some(*second), if is_name { Column::Id } else { Column::Offset })
        }
        _ => (None, Column::Id),
    };
    let Some(&(line, text)) = row.and_then(|row| rows.get(row)) else { return error };
    // An alignment that the options ask for has no column.
    let position = columns.iter().position(|column| column.role() == role).unwrap_or(at_id);
    let column = fields(line, text).get(position).map_or(1, |field| field.column);
    PlanError::Line { line, column, error: Box::new(error) }
}

fn columns(header: &[Field<'_>]) -> Result<Vec<Column>, PlanError> {
    let mut columns: Vec<Column> = Vec::new();
    for field in header {
        let column = Column::named(field.text)
            .ok_or_else(|| field.wrong(format!("unknown column {:?}", field.text)))?;
        if columns.iter().any(|other| other.role() == column.role()) {
            return Err(field.wrong(format!("a second column for {:?}", field.text)));
        }
        columns.push(column);
    }
    let needed = [
        (Column::Id, "id"),
        (Column::Lower, "lower"),
        (Column::Upper, "upper"),
        (Column::Size, "size"),
    ];
    for (role, name) in needed {
        if !columns.iter().any(|column| column.role() == role) {
            return Err(header[0].wrong(format!("there is no column {name:?}")));
        }
    }
    Ok(columns)
}

fn buffer(
    columns: &[Column],
    fields: &[Field<'_>],
    options: CsvOptions,
) -> Result<Buffer, PlanError> {
    let mut buffer = Buffer::new("", 0, 0, 0);
    let inclusive = i64::from(columns.contains(&Column::End));
    for (column, field) in columns.iter().zip(fields) {
        match column {
            Column::Id => field.text.clone_into(&mut buffer.id),
            Column::Lower => buffer.lower = field.number("lower")?,
            Column::Upper | Column::End => buffer.upper = end(field, inclusive)?,
            Column::Size => buffer.size = field.number("size")?,
            Column::Alignment => buffer.alignment = field.number("alignment")?,
            Column::Gaps => buffer.gaps = gaps(field, inclusive)?,
            Column::Offset if options.fixed && !field.text.is_empty() => {
                buffer.offset = Some(field.number("offset")?);
            }
            Column::Offset | Column::Hint => {}
        }
    }
    buffer.alignment = buffer.alignment.max(options.alignment.unwrap_or(1));
    Ok(buffer)
}

fn end(field: &Field<'_>, inclusive: i64) -> Result<i64, PlanError> {
    let last: i64 = field.number("upper")?;
    last.checked_add(inclusive).ok_or_else(|| field.wrong("the end is beyond all times"))
}

fn gaps(field: &Field<'_>, inclusive: i64) -> Result<Vec<Gap>, PlanError> {
    let mut gaps = Vec::new();
    for text in field.text.split_whitespace() {
        if text.contains('@') {
            return Err(field.wrong(format!("gap {text:?}: gaps with windows are not supported")));
        }
        // A lower bound may be negative: the dash that separates is not the first character.
        let dash = text.char_indices().skip(1).find(|&(_, letter)| letter == '-');
        let Some((at, _)) = dash else {
            return Err(field.wrong(format!("gap {text:?} is not of the form 2-5")));
        };
        let part = |text| Field { text, ..*field };
        let upper = end(&part(&text[at + 1..]), inclusive)?;
        gaps.push(Gap { lower: part(&text[..at]).number("gap")?, upper });
    }
    Ok(gaps)
}

/// Writes a plan: the columns and lines of `text`, from which the problem was read, with the
/// offsets in the column `offset`.
///
/// # Errors
/// If the header does not hold the columns.
pub fn write(text: &str, offsets: &[u64]) -> Result<String, PlanError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let header = fields(1, lines.next().ok_or(PlanError::Empty)?);
    let columns = columns(&header)?;
    let kept: Vec<usize> =
        (0..columns.len()).filter(|&one| columns[one] != Column::Offset).collect();
    let mut output = String::new();
    let names: Vec<&str> = kept.iter().map(|&one| header[one].text).collect();
    output.push_str(&names.join(","));
    output.push_str(",offset\n");
    for (line, offset) in lines.zip(offsets) {
        let fields = fields(1, line);
        for field in kept.iter().filter_map(|&one| fields.get(one)) {
            output.push_str(field.text);
            output.push(',');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(output, "{offset}");
    }
    Ok(output)
}
