//! The table for a shape, with one line for each encoder.

use comfy_table::{CellAlignment, Table, presets};

use super::forward::Forward;
use super::run::Run;

/// The text below the tables that explains them.
pub(super) const EXPLANATION: &str = "\
Times are milliseconds of processor time per forward pass, without the first two rounds. Each row is a process with one
thread, and the processes run in turns. Our three rows use the same code and the same weights. They use a pool of host
memory, a pool of plain heap blocks, or a new heap block for each acquire, which is freed by the end of the forward pass.
The difference between the last two is the effect of pooling. The difference between our rows and the others is not.
Faults and allocations are for one forward pass. The difference is the largest from the numbers in the first row. More
than 1e-5 would have been an error.";

/// Returns the whole table.
pub(super) fn of(runs: &[Run], differences: &[f32]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "way",
        "median",
        "p10",
        "p90",
        "by pool's",
        "faults",
        "allocations",
        "difference",
    ]);
    table
        .column_iter_mut()
        .skip(1)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let pool = runs.first().map_or(0, |run| times(&run.forwards)[0]);
    for (run, difference) in runs.iter().zip(differences) {
        let times = times(&run.forwards);
        let mut cells = vec![run.name.clone()];
        cells.extend(times.map(|time| format!("{:.2}", time as f64 * 1e-6)));
        cells.push(format!("{:.2}", times[0] as f64 / pool as f64));
        cells.push(mean(run, |forward| forward.faults));
        cells.push(mean(run, |forward| forward.allocations));
        cells.push(format!("{difference:.1e}"));
        table.add_row(cells);
    }
    table
}

/// Returns the median, the 10th percentile and the 90th percentile of the times.
fn times(forwards: &[Forward]) -> [u64; 3] {
    let mut times: Vec<u64> = forwards.iter().map(|forward| forward.processor).collect();
    times.sort_unstable();
    [50, 10, 90].map(|percent| {
        let rank = (times.len() * percent).div_ceil(100);
        times.get(rank.saturating_sub(1)).copied().unwrap_or(0)
    })
}

/// Formats the mean for one forward pass, or a dash if the value is not counted.
fn mean(run: &Run, count: fn(&Forward) -> Option<u64>) -> String {
    let sum: Option<u64> = run.forwards.iter().map(count).sum();
    sum.map_or_else(
        || "-".to_owned(),
        |sum| format!("{:.0}", sum as f64 / run.forwards.len() as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::{Forward, Run, of, times};

    fn forward(processor: u64) -> Forward {
        Forward { processor, faults: Some(processor / 1_000_000), allocations: None }
    }

    #[test]
    fn quantiles_are_times_that_there_were() {
        let forwards: Vec<Forward> = (1..=20).rev().map(forward).collect();
        assert_eq!(times(&forwards), [10, 2, 18]);
        assert_eq!(times(&forwards[..1]), [20, 20, 20]);
        assert_eq!(times(&[]), [0, 0, 0]);
    }

    #[test]
    fn a_row_has_what_there_is() {
        let run = |name: &str, time: u64| Run {
            name: name.to_owned(),
            forwards: vec![forward(time), forward(time)],
            numbers: vec![],
        };
        let table =
            of(&[run("pool", 2_000_000), run("torch 2", 5_000_000)], &[0.0, 3.2e-7]).to_string();
        let last = table.lines().find(|line| line.contains("torch 2")).unwrap();
        for expected in ["5.00", "2.50", "3.2e-7", " 5 ", " - "] {
            assert!(last.contains(expected), "{expected} is not in {last}");
        }
    }
}
