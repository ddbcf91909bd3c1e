//! `MiniMalloc`'s CSV format, with one buffer per line and a header that names the columns.
//!
//! The columns are `id` (also `buffer`, `buffer_id`), `lower` (also `begin`, `start`), `upper` (or
//! the older, inclusive `end`), `size`, and optionally `alignment`, `gaps` (`2-5 8-9`, separated by
//! spaces) and `offset`. When a file is read, all other columns are ignored. When a plan is
//! written, they are copied.
//!
//! A gap with a window, such as `9-10@1:17`, keeps the bytes from offset 1 to offset 17 of the
//! buffer live during the gap. The planner treats all bytes of a buffer as live during a gap with a
//! window. The resulting plan is valid, but may be larger than necessary.
//!
//! A problem with several memories has up to three additional columns. `memories` lists the names
//! of the memories in which the buffer may be placed, separated by spaces. If the `memories` field
//! is empty, the buffer may be placed in all memories. `traffic` is the number of bytes that are
//! read and written, which defaults to the size. `memory` is the memory that a plan has chosen.
//!
//! Fields may be quoted, and a quote inside a quoted field is doubled. Blanks around unquoted
//! fields are ignored, and blank lines are ignored as well. A lifetime is half-open. If `lower` is
//! not below `upper`, the buffer would never be live, and the file is refused.

mod error;
mod records;

use std::borrow::Cow;
use std::fmt::Write as _;

use pool_plan::{
    Buffer, Gap, IntervalProblem, Memory, MemoryBuffer, MemoryProblem, Placement, PlanError,
    Violation,
};

pub use error::CsvError;
pub use records::quoted;

use records::{Field, Record, Records};

/// The meaning of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Column {
    Id,
    Lower,
    Upper,
    /// The last time at which the buffer is live. `Upper` is the first time after `End`.
    End,
    Size,
    Alignment,
    Gaps,
    Offset,
    Hint,
    /// The memories in which the buffer may be placed. This column is used only in problems with
    /// several memories, like the columns `Memory` and `Traffic`.
    Memories,
    Memory,
    Traffic,
    /// A column that the planner does not use.
    Other,
}

impl Column {
    fn named(name: &str) -> Self {
        match name {
            "id" | "buffer" | "buffer_id" => Self::Id,
            "lower" | "begin" | "start" => Self::Lower,
            "upper" => Self::Upper,
            "end" => Self::End,
            "size" => Self::Size,
            "alignment" => Self::Alignment,
            "gaps" => Self::Gaps,
            "offset" => Self::Offset,
            "hint" => Self::Hint,
            "memories" => Self::Memories,
            "memory" => Self::Memory,
            "traffic" => Self::Traffic,
            _ => Self::Other,
        }
    }

    /// Returns the column to which this column is equivalent. A file may contain either `End` or
    /// `Upper`, but not both.
    fn role(self) -> Self {
        if self == Self::End { Self::Upper } else { self }
    }
}

/// The options for reading columns that can be interpreted in two ways.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CsvOptions {
    /// If `true`, buffers must be placed at the offsets in the file. If `false`, the offsets in the
    /// file are ignored.
    pub fixed: bool,
    /// The minimum alignment of every buffer, if it is not 1.
    pub alignment: Option<u64>,
}

/// Reads a problem.
///
/// # Errors
/// Fails if the text does not have the expected form, if there are more buffers than the planner
/// supports, or if the buffers are not a valid problem. The error states the line and the column.
pub fn read(text: &str, options: CsvOptions) -> Result<IntervalProblem, CsvError> {
    let (columns, buffers) = rows(text, |columns, record| buffer(columns, record, options))?;
    IntervalProblem::new(buffers).map_err(|error| located(error, &columns, text))
}

/// Reads a problem whose buffers are placed in one of `memories`. The columns `memories` and
/// `traffic` are used, and also `memory` if offsets are fixed.
///
/// # Errors
/// Fails for the same reasons as [`read`], or if a field names a memory that is not in `memories`.
pub fn read_memories(
    text: &str,
    options: CsvOptions,
    memories: Vec<Memory>,
) -> Result<MemoryProblem, CsvError> {
    let (columns, buffers) =
        rows(text, |columns, record| memory_buffer(columns, record, options, &memories))?;
    MemoryProblem::new(memories, buffers).map_err(|error| located(error, &columns, text))
}

/// Returns the columns of a file, and the buffer on each of its lines.
fn rows<T: AsRef<Buffer>>(
    text: &str,
    read: impl Fn(&[Column], &[Field<'_>]) -> Result<T, CsvError>,
) -> Result<(Vec<Column>, Vec<T>), CsvError> {
    let mut records = Records::new(text);
    let columns = columns(&records.next().ok_or(CsvError::Problem(PlanError::Empty))?)?;
    let mut buffers = Vec::new();
    let mut spans = 0_usize;
    while let Some(record) = records.next() {
        if record.count != columns.len() {
            let column = record.fields.get(columns.len()).map_or(record.end, |one| one.column);
            let message = format!(
                "the line has {} fields, but the header has {} columns",
                record.count,
                columns.len()
            );
            return Err(CsvError::Field { line: record.line, column, message });
        }
        let buffer = read(&columns, &record.fields)?;
        spans = spans.saturating_add(1 + buffer.as_ref().gaps.len());
        if spans > IntervalProblem::MOST_SPANS {
            // Further buffers are counted, but not stored.
            let (count, limit) =
                (spans.saturating_add(records.count()), IntervalProblem::MOST_SPANS);
            return Err(PlanError::TooMany { what: "buffers and gaps", count, limit }.into());
        }
        buffers.push(buffer);
    }
    Ok((columns, buffers))
}

/// Converts an error of the problem to an error that states the line and the field.
fn located(error: PlanError, columns: &[Column], text: &str) -> CsvError {
    let at_id = columns.iter().position(|&column| column == Column::Id).unwrap_or(0);
    let mut rows = Records::new(text).skip(1);
    // If a buffer has no name, the message contains its index.
    let mut named = |id: &str| {
        let unnamed = id.strip_prefix('#').and_then(|index| index.parse().ok());
        let mut places = 0_usize..;
        rows.find(|record| {
            let (place, field) = (places.next(), record.fields.get(at_id));
            field.is_some_and(|field| field.text == id || field.text.is_empty() && place == unnamed)
        })
    };
    let (row, role) = match &error {
        PlanError::InvertedLifetime { id, .. } => (named(id), Column::Upper),
        PlanError::BadGap { id, .. } => (named(id), Column::Gaps),
        PlanError::BadAlignment { id, .. } => (named(id), Column::Alignment),
        PlanError::MisalignedOffset { id, .. } => (named(id), Column::Offset),
        PlanError::SizeOverflow { id, .. } => (named(id), Column::Size),
        PlanError::BadMemories { id, .. } => (named(id), Column::Memories),
        PlanError::DuplicateId { second, .. }
        | PlanError::FixedOverlap(Violation::LiveTogether { second, .. }) => {
            let is_name = matches!(error, PlanError::DuplicateId { .. });
            (rows.nth(*second), if is_name { Column::Id } else { Column::Offset })
        }
        _ => (None, Column::Id),
    };
    let Some(row) = row else { return error.into() };
    // An alignment from the options does not come from a column.
    let position = columns.iter().position(|column| column.role() == role).unwrap_or(at_id);
    let (line, column) =
        row.fields.get(position).map_or((row.line, 1), |field| (field.line, field.column));
    CsvError::Buffer { line, column, error }
}

fn columns(header: &Record<'_>) -> Result<Vec<Column>, CsvError> {
    let mut columns: Vec<Column> = Vec::new();
    if header.count > header.fields.len() {
        let message = format!(
            "the header has {} columns, but at most {} are supported",
            header.count,
            header.fields.len()
        );
        return Err(header.fields[0].wrong(message));
    }
    for field in &header.fields {
        let column = Column::named(&field.text);
        if column != Column::Other && columns.iter().any(|other| other.role() == column.role()) {
            return Err(field.wrong(format!("the column {:?} occurs twice", field.text)));
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
            return Err(header.fields[0].wrong(format!("there is no column {name:?}")));
        }
    }
    Ok(columns)
}

fn buffer(
    columns: &[Column],
    fields: &[Field<'_>],
    options: CsvOptions,
) -> Result<Buffer, CsvError> {
    let mut buffer = Buffer::new("", 0, 0, 0);
    let inclusive = i64::from(columns.contains(&Column::End));
    for (column, field) in columns.iter().zip(fields) {
        match column {
            Column::Id => buffer.id = field.text.clone().into_owned(),
            Column::Lower => buffer.lower = field.number("lower")?,
            Column::Upper | Column::End => buffer.upper = end(field, inclusive)?,
            Column::Size => buffer.size = field.number("size")?,
            Column::Alignment => buffer.alignment = alignment(field)?,
            Column::Gaps => buffer.gaps = gaps(field, inclusive)?,
            Column::Offset if options.fixed && !field.text.is_empty() => {
                buffer.offset = Some(field.number("offset")?);
            }
            // `memory_buffer` reads the columns for memories.
            _ => {}
        }
    }
    buffer.alignment = buffer.alignment.max(options.alignment.unwrap_or(1));
    Ok(buffer)
}

/// Reads a buffer with its memories.
fn memory_buffer(
    columns: &[Column],
    fields: &[Field<'_>],
    options: CsvOptions,
    memories: &[Memory],
) -> Result<MemoryBuffer, CsvError> {
    let index = |field: &Field<'_>, name: &str| {
        let found = memories.iter().position(|memory| memory.name == name);
        found.ok_or_else(|| field.wrong(format!("there is no memory {name:?}")))
    };
    let mut one = MemoryBuffer::new(buffer(columns, fields, options)?, 0..memories.len());
    for (column, field) in columns.iter().zip(fields).filter(|(_, field)| !field.text.is_empty()) {
        match column {
            Column::Memories => {
                let names = field.text.split_whitespace().map(|name| index(field, name));
                one.memories = names.collect::<Result<_, _>>()?;
            }
            Column::Traffic => one.traffic = field.number("traffic")?,
            Column::Memory if options.fixed => one.memory = Some(index(field, &field.text)?),
            _ => {}
        }
    }
    Ok(one)
}

/// Reads an alignment. An alignment that is not a power of two is refused when the problem is
/// created. An alignment of 0 is refused here, because it would be lost when it is combined with
/// the options.
fn alignment(field: &Field<'_>) -> Result<u64, CsvError> {
    let alignment = field.number("alignment")?;
    if alignment == 0 {
        return Err(field.wrong("alignment 0 is not a power of two"));
    }
    Ok(alignment)
}

fn end(field: &Field<'_>, inclusive: i64) -> Result<i64, CsvError> {
    let last: i64 = field.number("upper")?;
    last.checked_add(inclusive).ok_or_else(|| field.wrong("the end is too large for a time"))
}

fn gaps(field: &Field<'_>, inclusive: i64) -> Result<Vec<Gap>, CsvError> {
    let mut gaps = Vec::new();
    for text in field.text.split_whitespace() {
        // A lower bound may be negative, so the separating dash is never the first character.
        let dash = text.char_indices().skip(1).find(|&(_, letter)| letter == '-');
        let Some((at, _)) = dash else {
            return Err(field.wrong(format!("gap {text:?} is not of the form 2-5")));
        };
        let part = |text| Field { text: Cow::Borrowed(text), ..*field };
        let (times, window) = match text[at + 1..].split_once('@') {
            Some((times, window)) => (times, Some(window)),
            None => (&text[at + 1..], None),
        };
        let upper = end(&part(times), inclusive)?;
        let lower = part(&text[..at]).number("gap")?;
        let Some(window) = window else {
            gaps.push(Gap { lower, upper });
            continue;
        };
        let bytes = window.split_once(':');
        let (first, last) = bytes.ok_or_else(|| {
            field.wrong(format!("gap {text:?}: the window is not of the form 1:17"))
        })?;
        let (first, last): (u64, u64) =
            (part(first).number("window")?, part(last).number("window")?);
        if first >= last {
            return Err(field.wrong(format!("gap {text:?}: the window is empty or inverted")));
        }
    }
    Ok(gaps)
}

/// Writes a plan. The result contains the columns and lines of `text`, from which the problem was
/// read, and the offsets in the `offset` column.
///
/// # Errors
/// Fails if the header does not contain the required columns, or if there is not exactly one offset
/// for each line.
pub fn write(text: &str, offsets: &[u64]) -> Result<String, CsvError> {
    let fields = offsets.iter().map(u64::to_string);
    with_columns(text, &[Column::Offset], "offset", fields)
}

/// Writes a plan for several memories. In addition to the offsets, the name of each buffer's memory
/// is written to the `memory` column.
///
/// # Errors
/// Fails for the same reasons as [`write()`].
pub fn write_memories(
    text: &str,
    memories: &[Memory],
    placements: &[Placement],
) -> Result<String, CsvError> {
    let name = |memory: usize| memories.get(memory).map_or("", |memory| memory.name.as_str());
    let fields = placements.iter().map(|at| format!("{},{}", quoted(name(at.memory)), at.offset));
    with_columns(text, &[Column::Memory, Column::Offset], "memory,offset", fields)
}

/// Returns the lines of a text without the given columns, and with other columns appended.
fn with_columns(
    text: &str,
    without: &[Column],
    header: &str,
    fields: impl ExactSizeIterator<Item = String>,
) -> Result<String, CsvError> {
    let mut records = Records::new(text);
    let first = records.next().ok_or(CsvError::Problem(PlanError::Empty))?;
    let columns = columns(&first)?;
    let kept: Vec<usize> =
        (0..columns.len()).filter(|&one| !without.contains(&columns[one])).collect();
    let mut output = String::new();
    let mut add = |record: &Record<'_>, end: &str| {
        for field in kept.iter().filter_map(|&one| record.fields.get(one)) {
            output.push_str(&quoted(&field.text));
            output.push(',');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(output, "{end}");
    };
    add(&first, header);
    let (expected, mut fields, mut lines) = (fields.len(), fields, 0);
    for record in records {
        if let Some(end) = fields.next() {
            add(&record, &end);
        }
        lines += 1;
    }
    if lines != expected {
        let message = format!("the plan has {expected} offsets for {lines} lines");
        return Err(CsvError::Field { line: first.line, column: 1, message });
    }
    Ok(output)
}
