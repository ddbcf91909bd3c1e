//! The table at the end of the demo, made for people: a line for each version of each workload.

use comfy_table::{CellAlignment, Table, TableComponent, presets};
use indicatif::BinaryBytes;
use pool_facade::prelude::*;

use super::measure::{Comparison, Plan, Quartiles, Version};

/// One workload's part of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// The work, and its subject.
    pub(crate) workload: [&'static str; 2],
    pub(crate) comparison: Comparison,
    /// The statistics of the pool that the pooled version used.
    pub(crate) pool: PoolStats,
}

/// The whole table.
pub(crate) fn of(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, '─');
    table.set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_header([
        "workload",
        "version",
        "time per\niteration",
        "ratio of times\n(quartiles)",
        "heap\nallocations",
        "bytes held\nat work",
        "bytes held\nat rest",
        "minor\nfaults",
    ]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        let Row { workload: [work, data], comparison, pool } = row;
        let kept = pool.reserved_bytes + pool.bookkeeping_bytes;
        let (allocating, pooled) = (&comparison.allocating, &comparison.pooled);
        table.add_row(cells(work, "allocating", "1".to_owned(), allocating, 0));
        table.add_row(cells(data, "pooled", spread(comparison.ratio), pooled, kept));
    }
    table
}

/// Returns the explanation of the columns, below the table.
pub(crate) fn explanation(plan: &Plan) -> String {
    format!(
        "Every number is for one iteration of the whole workload, on {} {}. Times are medians of {} \
         batches.\nThe versions run in turns. The ratio is the pooled time divided by the allocating \
         time within a pair of batches.\nBytes at work are the peak of an iteration. Bytes at rest \
         are held between iterations.\n",
        std::env::consts::OS,
        std::env::consts::ARCH,
        plan.batches,
    )
}

fn cells(workload: &str, name: &str, ratio: String, version: &Version, kept: usize) -> [String; 8] {
    let kept = kept as u64;
    let own = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    [
        workload.to_owned(),
        name.to_owned(),
        duration(version.time.median),
        ratio,
        version.heap.allocations.to_string(),
        BinaryBytes(kept + own(version.heap.peak)).to_string(),
        BinaryBytes(kept + own(version.heap.held)).to_string(),
        version.minor_faults.map_or_else(|| "n/a".to_owned(), |faults| format!("{faults:.1}")),
    ]
}

fn spread(ratio: Quartiles) -> String {
    format!("{:.2} ({:.2}–{:.2})", ratio.median, ratio.lower, ratio.upper)
}

fn duration(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.1} µs", seconds * 1e6)
    } else {
        format!("{:.2} ms", seconds * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::{Quartiles, duration, spread};

    #[test]
    fn numbers_read_well() {
        assert_eq!(duration(12.34e-6), "12.3 µs");
        assert_eq!(duration(0.004_567), "4.57 ms");
        let ratio = Quartiles { lower: 0.5, median: 0.6251, upper: 1.0 };
        assert_eq!(spread(ratio), "0.63 (0.50–1.00)");
    }
}
