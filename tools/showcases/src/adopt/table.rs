//! The table at the end, in Markdown so that it can be copied to a document. It has one line for
//! each case and version.

use comfy_table::{CellAlignment, Table, presets};

use super::patch::Lines;
use super::record::{Peak, Record};
use tasks::TaskError;

/// The text that explains the columns.
pub(super) const EXPLANATION: &str = "\
Speed is the original's time divided by the version's time within a round of batches: median (10th–90th percentile).
The version is faster if the number is above 1. Times are a thread's processor time per call, as the median of the
batches. Lines are the lines that the patch adds and removes, including those in the manifest.";

/// A line of the table.
#[derive(Debug)]
pub(super) struct Row([String; 8]);

/// Returns the lines for one crate. Every version of a case is compared with the original in that
/// case.
///
/// # Errors
///
/// Fails if no original precedes a record, or if a record belongs to a version without a patch.
pub(super) fn rows(
    package: &str,
    patches: &[(&str, Lines)],
    records: &[Record],
) -> Result<Vec<Row>, TaskError> {
    let mut rows = Vec::new();
    let mut original: Option<&Record> = None;
    for record in records {
        if record.version == "original" {
            original = Some(record);
            continue;
        }
        let original = original.filter(|original| original.case == record.case);
        let original = original
            .ok_or_else(|| format!("{package}: there is no original of {}", record.case))?;
        let lines = lines_of(package, patches, &record.version)?;
        rows.push(row(package, lines, original, record));
    }
    if rows.is_empty() { Err(format!("{package}: nothing was measured").into()) } else { Ok(rows) }
}

/// Returns the lines about the peak memory that each process used.
///
/// # Errors
///
/// Fails if a version has no patch.
pub(super) fn peak_rows(
    package: &str,
    patches: &[(&str, Lines)],
    original: &Peak,
    others: &[Peak],
) -> Result<Vec<Row>, TaskError> {
    let row = |peak: &Peak| {
        let lines = lines_of(package, patches, &peak.version)?;
        let [before, after] = [original, peak].map(|peak| bytes(peak.kibibytes << 10));
        Ok(Row([
            package.to_owned(),
            "peak memory of a process".to_owned(),
            peak.version.clone(),
            lines.to_string(),
            "–".to_owned(),
            "–".to_owned(),
            "–".to_owned(),
            format!("{before} → {after}"),
        ]))
    };
    others.iter().map(row).collect()
}

/// Returns how many lines a version's patch changes.
fn lines_of(package: &str, patches: &[(&str, Lines)], version: &str) -> Result<Lines, TaskError> {
    let patch = patches.iter().find(|(name, _)| *name == version);
    let (_, lines) = patch.ok_or_else(|| format!("{package}: there is no patch {version}"))?;
    Ok(*lines)
}

fn row(package: &str, lines: Lines, original: &Record, record: &Record) -> Row {
    let [low, median, high] = record.speed;
    Row([
        package.to_owned(),
        record.case.clone(),
        record.version.clone(),
        lines.to_string(),
        format!("{median:.2} ({low:.2}–{high:.2})"),
        format!("{} → {}", duration(original.nanoseconds), duration(record.nanoseconds)),
        format!("{} → {}", original.allocations, record.allocations),
        format!("{} → {}", bytes(original.bytes), bytes(record.bytes)),
    ])
}

/// Returns the whole table.
pub(super) fn of(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header([
        "crate",
        "case",
        "version",
        "lines",
        "speed",
        "time per call",
        "allocations per call",
        "bytes per call",
    ]);
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.add_rows(rows.iter().map(|Row(cells)| cells));
    table
}

fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        small if small < 1e3 => format!("{small:.0} ns"),
        middle if middle < 1e6 => format!("{:.1} µs", middle / 1e3),
        large => format!("{:.2} ms", large / 1e6),
    }
}

/// Formats a number with three digits, which are enough for this table.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        small if small < 1e4 => format!("{small:.0}"),
        middle if middle < 1e6 => format!("{:.0}k", middle / 1e3),
        large => format!("{:.1}M", large / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Peak, Record, bytes, duration, of, peak_rows, rows};

    fn record(case: &str, version: &str, allocations: u64) -> Record {
        Record {
            case: case.to_owned(),
            version: version.to_owned(),
            nanoseconds: 28_671.0,
            speed: [1.3, 1.4235, 1.477],
            allocations,
            bytes: 20_000,
        }
    }

    const PATCHES: &[(&str, Lines)] = &[("pool", Lines { added: 7, removed: 5 })];

    #[test]
    fn a_version_stands_beside_the_original_of_its_case() {
        let records = [record("a", "original", 1_001), record("a", "pool", 1)];
        let table = of(&rows("bspline-1.1.0", PATCHES, &records).unwrap()).to_string();
        for part in ["| bspline-1.1.0 |", "+7 −5", "1.42 (1.30–1.48)", "1001 → 1", "20k → 20k"]
        {
            assert!(table.contains(part), "{part} in\n{table}");
        }
    }

    #[test]
    fn a_record_without_original_or_patch_is_refused() {
        let refused = |records: &[Record]| rows("b", PATCHES, records).unwrap_err().to_string();
        assert!(refused(&[record("a", "pool", 1)]).contains("original"));
        assert!(
            refused(&[record("a", "original", 1), record("b", "pool", 1)]).contains("original")
        );
        assert!(refused(&[record("a", "original", 1), record("a", "kept", 1)]).contains("kept"));
        assert!(refused(&[record("a", "original", 1)]).contains("nothing"));
    }

    #[test]
    fn peaks_stand_beside_the_original() {
        let peak = |version: &str, kibibytes| Peak { version: version.to_owned(), kibibytes };
        let rows = peak_rows("b", PATCHES, &peak("original", 241_000), &[peak("pool", 245_000)]);
        let table = of(&rows.unwrap()).to_string();
        assert!(table.contains("peak memory") && table.contains("246.8M → 250.9M"), "{table}");
        assert!(peak_rows("b", PATCHES, &peak("original", 1), &[peak("kept", 1)]).is_err());
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([12.4, 28_671.0, 4.567e6].map(duration), ["12 ns", "28.7 µs", "4.57 ms"]);
        assert_eq!([9_999, 12_345, 40_200_000].map(bytes), ["9999", "12k", "40.2M"]);
    }
}
