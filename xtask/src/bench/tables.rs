//! Formats the cells as tables, for the terminal and in Markdown.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};

use super::bars::{self, Met, Outcome};
use super::figures::{Cell, Figures};
use super::record::Held;

const HEADER: [&str; 8] = [
    "way",
    "time",
    "middle half",
    "× caller-kept",
    "× bump-scope",
    "instructions",
    "heap allocations",
    "minor faults",
];

/// Returns all tables for the terminal.
pub(crate) fn for_terminal(figures: &Figures) -> String {
    let mut text = String::new();
    for (workload, variant) in figures.variants() {
        let mut table = empty(&HEADER);
        for cell in of_variant(figures, &workload, &variant) {
            table.add_row(row(cell));
        }
        text += &format!("{workload}: {variant}\n{table}\n\n");
    }
    let mut table = empty(&["case", "aim", "tolerance", "measured", "", "the floor"]);
    for outcome in bars::outcomes(figures) {
        let Outcome { case, aim, tolerance, measured, floor, met } = outcome;
        table.add_row([case, aim, tolerance, measured, mark(met).to_owned(), floor]);
    }
    text + &table.to_string()
}

fn empty(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Returns the table of a variant in Markdown.
pub(crate) fn of_cells(figures: &Figures, workload: &str, variant: &str) -> String {
    let cells: Vec<_> = of_variant(figures, workload, variant).collect();
    let rows: Vec<[String; 8]> = cells.into_iter().map(row).collect();
    // Columns that contain no number are left out.
    let kept: Vec<usize> = (0..HEADER.len())
        .filter(|&column| rows.iter().any(|row| !row[column].is_empty()))
        .collect();
    let pick = |row: &[String]| kept.iter().map(|&column| row[column].clone()).collect::<Vec<_>>();
    markdown(&pick(&HEADER.map(str::to_owned)), rows.iter().map(|row| pick(row)))
}

/// Returns the table of held bytes, with a row for each pattern.
pub(crate) fn of_held(held: &[Held]) -> String {
    let names = |pick: fn(&Held) -> &String| {
        let mut names: Vec<String> = Vec::new();
        for record in held {
            if !names.contains(pick(record)) {
                names.push(pick(record).clone());
            }
        }
        names
    };
    let columns = names(|record| &record.name.column);
    let header = ["lengths".to_owned(), "live at most".to_owned()];
    let header: Vec<String> = header.into_iter().chain(columns.iter().cloned()).collect();
    let rows = names(|record| &record.name.variant).into_iter().map(|variant| {
        let of_variant: Vec<_> = held.iter().filter(|one| one.name.variant == variant).collect();
        let live = of_variant.first().map_or(0, |one| one.peak_live);
        let cells = columns.iter().map(|column| {
            let found = of_variant.iter().find(|one| one.name.column == *column);
            found.map_or(String::new(), |one| held_cell(one))
        });
        let first = [variant.clone(), format!("{:.2} MB", megabytes(live))];
        first.into_iter().chain(cells).collect()
    });
    markdown(&header, rows)
}

fn held_cell(held: &Held) -> String {
    let ratio = megabytes(held.held) / megabytes(held.peak_live);
    let growths = held.late_growths.map(|count| format!(" ({count:.1})"));
    format!("{ratio:.2} ×{}", growths.unwrap_or_default())
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Returns the table of bars in Markdown.
pub(crate) fn of_bars(figures: &Figures) -> String {
    let header = ["case", "aim", "tolerance", "measured", "met", "the floor"].map(str::to_owned);
    let rows = bars::outcomes(figures).into_iter().map(|outcome| {
        let Outcome { case, aim, tolerance, measured, floor, met } = outcome;
        vec![case, aim, tolerance, measured, mark(met).to_owned(), floor]
    });
    markdown(&header, rows)
}

fn mark(met: Met) -> &'static str {
    match met {
        Met::Yes => "yes",
        Met::WithinTolerance => "within the tolerance",
        Met::No => "**no**",
    }
}

fn markdown(header: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|---|", header.join(" | "));
    text += &"---:|".repeat(header.len() - 1);
    text += "\n";
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

fn of_variant<'f>(
    figures: &'f Figures,
    workload: &'f str,
    variant: &'f str,
) -> impl Iterator<Item = &'f Cell> {
    let of = move |cell: &&Cell| cell.name.workload == workload && cell.name.variant == variant;
    figures.cells.iter().filter(of)
}

fn row(cell: &Cell) -> [String; 8] {
    let ratio = |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
    let time = cell.time;
    [
        cell.name.column.clone(),
        time.map_or(String::new(), |time| duration(time.median)),
        time.map_or(String::new(), |time| {
            format!("{} to {}", duration(time.lower_quartile), duration(time.upper_quartile))
        }),
        ratio(time.and_then(|time| time.by_caller_kept)),
        ratio(time.and_then(|time| time.by_bump_scope)),
        cell.instructions.map_or(String::new(), |count| format!("{count:.0}")),
        cell.allocations.map_or(String::new(), trimmed),
        // Fewer than one fault in a hundred passes comes from the harness.
        cell.minor_faults.map_or(String::new(), |faults| format!("{:.0}", faults.round())),
    ]
}

fn trimmed(count: f64) -> String {
    format!("{count:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats three significant digits with a suitable unit.
fn duration(nanoseconds: f64) -> String {
    let (number, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n => (n / 1e6, "ms"),
    };
    match number {
        n if n < 10.0 => format!("{n:.2} {unit}"),
        n if n < 100.0 => format!("{n:.1} {unit}"),
        n => format!("{n:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(duration(1.537), "1.54 ns");
        assert_eq!(duration(29.97), "30.0 ns");
        assert_eq!(duration(288_123.0), "288 µs");
        assert_eq!(duration(12_600_000.0), "12.6 ms");
    }

    #[test]
    fn markdown_has_as_many_cells_in_each_row() {
        let text =
            markdown(&["a".to_owned(), "b".to_owned()], [vec!["1".into(), "2".into()]].into_iter());
        assert_eq!(text, "| a | b |\n|---|---:|\n| 1 | 2 |\n");
    }
}
