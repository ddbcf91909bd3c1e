//! The table of a stream: a line for each way, and below it the ways that beat the pool.

use comfy_table::{CellAlignment, Table, TableComponent, presets};
use indicatif::BinaryBytes;

use super::columns::Column;
use super::figures::Figures;

/// The ratio from which on a difference is reported.
const WORTH: f64 = 0.99;

/// The explanation below the tables.
pub(super) const EXPLANATION: &str = "\
Frame times are the processor time of the thread that processes the frame. They exclude the first use of each film frame.
The sources run in turns, each in its own process. Frames per second and the worst time by the clock are wall-clock
measurements, which include other load on the machine. Faults and allocations are the thread's, per frame. Bytes held
are the process's peak resident memory between two frames, minus its resident memory before the first frame.
All sources produced the same pictures.
";

/// Returns the explanation of the column of wgpu.
pub(super) fn of_wgpu(adapter: &str) -> String {
    format!(
        "wgpu computes the median, the pyramid, and the edges on {adapter}. The host decodes each frame, follows its flow, and\n\
         composes the picture. Processor time, faults, and allocations cover only the host's thread, so compare wgpu by the\n\
         clock. The bytes that wgpu holds include the driver's memory."
    )
}

/// Returns the whole table.
pub(super) fn of(rows: &[(Column, Figures)]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, '─');
    table.set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_header([
        "source",
        "frames\nper second",
        "p50\nms",
        "p99\nms",
        "p99.9\nms",
        "worst\nms",
        "worst by\nthe clock",
        "page\nfaults",
        "heap\nallocations",
        "bytes held\nbetween frames",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (column, figures) in rows {
        table.add_row(cells(column, figures));
    }
    table
}

fn cells(column: &Column, figures: &Figures) -> Vec<String> {
    let unknown = || "n/a".to_owned();
    let held = |held: i64| BinaryBytes(u64::try_from(held).unwrap_or(0)).to_string();
    let mut cells = vec![column.name.to_owned(), format!("{:.1}", figures.frames_a_second)];
    cells.extend(figures.times.map(milliseconds));
    cells.push(milliseconds(figures.worst_by_clock));
    cells.push(figures.faults.map_or_else(unknown, |faults| format!("{faults:.1}")));
    cells.push(format!("{:.1}", figures.allocations));
    cells.push(figures.held.map_or_else(unknown, held));
    cells
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.2}", seconds * 1e3)
}

/// A measure for the comparison of ways; less is better.
type Measure = (&'static str, fn(&Figures) -> f64);

/// Returns the measures in which another way beats the pool.
pub(super) fn verdict(rows: &[(Column, Figures)]) -> String {
    let Some((_, pool)) = rows.iter().find(|(column, _)| column.is_pool()) else {
        return "There is no pool for the comparison.".to_owned();
    };
    let measures: [Measure; 3] = [
        ("the median", |figures| figures.times[0]),
        ("p99", |figures| figures.times[1]),
        ("bytes held between frames", |figures| figures.held.map_or(f64::NAN, |held| held as f64)),
    ];
    let better = measures.map(|(name, of)| {
        // The times of wgpu exclude the driver's, which computes elsewhere.
        let comparable = rows.iter().filter(|(column, _)| *column != Column::WGPU);
        let ratios = comparable.map(|(column, figures)| (column.name, of(figures) / of(pool)));
        let better = ratios.filter(|(_, ratio)| *ratio < WORTH);
        let better: Vec<String> =
            better.map(|(column, ratio)| format!("{column} ({ratio:.2})")).collect();
        format!("{name}: {}", if better.is_empty() { "none".to_owned() } else { better.join(", ") })
    });
    format!("Better than the pool, as a fraction of its figure: {}.", better.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{Column, Figures, of, verdict};

    fn figures(median: f64, held: i64) -> Figures {
        Figures {
            frames_a_second: 1.0 / median,
            times: [median, 2.0, 3.0, 4.0],
            worst_by_clock: 5.0,
            faults: None,
            allocations: 49.0,
            held: Some(held),
        }
    }

    #[test]
    fn who_is_better_is_reported() {
        let rows = [(Column::POOL, figures(1.0, 1 << 20)), (Column::VEC, figures(0.9, 2 << 20))];
        let reported = verdict(&rows);
        assert!(
            reported.contains("the median: Vec (0.90); p99: none; bytes held between frames: none"),
            "{reported}"
        );
        assert!(verdict(&rows[1..]).contains("no pool"));
        let on_wgpu = [rows[0], (Column::WGPU, figures(0.1, 1 << 10))];
        assert!(verdict(&on_wgpu).contains("the median: none"));
    }

    #[test]
    fn a_row_has_what_there_is() {
        let table = of(&[(Column::VEC, figures(0.0125, 3 << 20))]).to_string();
        for expected in ["Vec", "80.0", "12.50", "5000.00", "n/a", "49.0", "3.00 MiB"] {
            assert!(table.contains(expected), "{expected} is not in\n{table}");
        }
    }
}
