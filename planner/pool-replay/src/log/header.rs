//! The header of RMM's CSV log, in any version. A reader finds the columns of a header in any
//! order.
//!
//! | version | columns |
//! |---|---|
//! | since 0.15 | `Thread,Time,Action,Pointer,Size,Stream` |
//! | 0.14 | `Time,Action,Pointer,Size,Stream` |
//! | up to 0.13 | `Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,…,Start,End,Elapsed,Location` |

/// A column that a reader of RMM's logs uses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Column {
    Action,
    Pointer,
    Size,
    Stream,
    Time,
    Device,
}

/// The names of each column, the newest first.
const NAMES: [(Column, &[&str]); 6] = [
    (Column::Action, &["Action", "Event Type"]),
    (Column::Pointer, &["Pointer", "Address"]),
    (Column::Size, &["Size", "Size (bytes)"]),
    (Column::Stream, &["Stream"]),
    (Column::Time, &["Time", "Start"]),
    (Column::Device, &["Device ID", "Device"]),
];
/// The columns that every log must contain.
const NEEDED: [Column; 3] = [Column::Action, Column::Pointer, Column::Size];

/// The position of each column in a line.
#[derive(Clone, Debug)]
pub(super) struct Header {
    places: [Option<usize>; NAMES.len()],
    names: Vec<String>,
    /// `true` if no reader uses the last column. The last column may then be a path that contains
    /// commas.
    has_free_end: bool,
}

impl Column {
    fn index(self) -> usize {
        NAMES.iter().position(|(column, _)| *column == self).unwrap_or(0)
    }
}

/// A line that is not a header.
#[derive(Debug)]
pub(super) struct NoHeader {
    /// The number of RMM's columns that the line names.
    pub(super) known: usize,
    /// The required columns that are missing.
    pub(super) missing: Vec<&'static str>,
}

impl Header {
    /// The header that versions since 0.15 write.
    pub(super) fn newest() -> Self {
        Self::of("Thread,Time,Action,Pointer,Size,Stream").unwrap_or(Self {
            places: [None; NAMES.len()],
            names: Vec::new(),
            has_free_end: false,
        })
    }

    /// Reads a header.
    pub(super) fn of(line: &str) -> Result<Self, NoHeader> {
        let names: Vec<String> = fields(line).map(str::to_owned).collect();
        let mut places = [None; NAMES.len()];
        for (place, (_, known)) in places.iter_mut().zip(NAMES) {
            let is_it = |name: &String| known.iter().any(|known| known.eq_ignore_ascii_case(name));
            *place = names.iter().position(is_it);
        }
        let missing: Vec<_> = NEEDED.iter().filter(|&&one| places[one.index()].is_none()).collect();
        if !missing.is_empty() {
            let missing = missing.iter().map(|one| NAMES[one.index()].1[0]).collect();
            return Err(NoHeader { known: places.iter().flatten().count(), missing });
        }
        let has_free_end = !places.contains(&names.len().checked_sub(1));
        Ok(Self { places, names, has_free_end })
    }

    /// Returns the field of a column, or `None` if the header does not name the column.
    pub(super) fn field<'a>(
        &self,
        fields: &[&'a str],
        column: Column,
    ) -> Result<Option<&'a str>, String> {
        let Some(at) = self.places[column.index()] else { return Ok(None) };
        let field = fields.get(at).copied();
        field.map(Some).ok_or_else(|| format!("there is no column {:?}", self.names[at]))
    }

    /// Returns the field of a column that every log must contain.
    pub(super) fn needed<'a>(&self, fields: &[&'a str], column: Column) -> Result<&'a str, String> {
        let name = || NAMES[column.index()].1[0];
        self.field(fields, column)?.ok_or_else(|| format!("there is no column {:?}", name()))
    }

    /// Refuses a line with more fields than columns.
    pub(super) fn check_count(&self, count: usize) -> Result<(), String> {
        if count > self.names.len() && !self.has_free_end {
            return Err(format!("the line has more fields than the {} columns", self.names.len()));
        }
        Ok(())
    }

    /// Returns the name of a column in this header.
    pub(super) fn name(&self, column: Column) -> &str {
        let at = self.places[column.index()];
        at.and_then(|at| self.names.get(at)).map_or(NAMES[column.index()].1[0], String::as_str)
    }
}

/// Returns the fields of a line, without the blanks and quotes around them. A comma inside quotes
/// is not a separator.
pub(super) fn fields(line: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let is_end = move |letter: char| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    };
    line.split(is_end).map(bare)
}

/// Returns a field without the blanks and quotes around it.
fn bare(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
}
