//! The figures of one run, with a cell for each case. `docs/measurements/benchmarks.json` contains
//! them.

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::programs::{Effort, Programs};
use super::record::{Count, Held, Name, Timing};
use crate::TaskError;

/// Everything that was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) machine: Machine,
    /// Why the figures contain no instructions, or `None` if they do.
    pub(crate) instructions_skipped: Option<String>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) held: Vec<Held>,
}

/// The measurements of one case. All values are for one pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) name: Name,
    pub(crate) time: Option<Time>,
    pub(crate) instructions: Option<f64>,
    pub(crate) allocations: Option<f64>,
    pub(crate) minor_faults: Option<f64>,
}

/// Times in nanoseconds, over all batches.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Time {
    pub(crate) lower_quartile: f64,
    pub(crate) median: f64,
    pub(crate) upper_quartile: f64,
    pub(crate) batches: usize,
    /// The median over all rounds of this time, divided by the time of the caller-kept column in
    /// the same round.
    pub(crate) by_caller_kept: Option<f64>,
    /// The median ratio to the time of bump-scope's scopes.
    pub(crate) by_bump_scope: Option<f64>,
}

/// The columns with which the others are compared.
const CALLER_KEPT: [&str; 2] = ["caller-kept", "allocating"];
const BUMP_SCOPE: &str = "bump-scope, scoped";

impl Figures {
    /// Runs all measurements.
    pub(crate) fn measure(programs: &Programs, effort: Effort) -> Result<Self, TaskError> {
        let mut machine = Machine::describe();
        eprintln!("interleaved batches …");
        let mut timings = programs.times(effort)?;
        eprintln!("large arrays, one process per case …");
        timings.extend(programs.large_times(effort)?);
        eprintln!("two threads …");
        timings.extend(programs.thread_times(effort)?);
        machine.finish();
        eprintln!("held memory …");
        let held = programs.held()?;
        let mut figures = Self::count(programs, machine)?;
        for timing in &timings {
            let time = Time::of(timing, &timings);
            let cell = figures.cell(&timing.name);
            cell.time = Some(time);
            cell.minor_faults = timing.minor_faults;
        }
        figures.held = held;
        Ok(figures)
    }

    /// Only counts what can be counted exactly.
    pub(crate) fn count(programs: &Programs, machine: Machine) -> Result<Self, TaskError> {
        eprintln!("heap allocations …");
        let allocations = programs.allocations()?;
        eprintln!("instructions …");
        let instructions = programs.instructions()?;
        let mut figures =
            Self { machine, instructions_skipped: None, cells: Vec::new(), held: Vec::new() };
        for Count { name, count } in &allocations {
            figures.cell(name).allocations = Some(*count);
        }
        match instructions {
            Ok(counts) => {
                for Count { name, count } in &counts {
                    figures.cell(name).instructions = Some(*count);
                }
            }
            Err(why) => figures.instructions_skipped = Some(why),
        }
        Ok(figures)
    }

    /// Adds the cells of new cases, and returns their number.
    pub(crate) fn add(&mut self, counted: Self) -> usize {
        let known = self.cells.len();
        for cell in counted.cells {
            if !self.cells.iter().any(|before| before.name == cell.name) {
                self.cells.push(cell);
            }
        }
        self.cells.len() - known
    }

    /// Returns the cell of a case, and creates it if necessary.
    fn cell(&mut self, name: &Name) -> &mut Cell {
        let known = self.cells.iter().position(|cell| cell.name == *name);
        let index = known.unwrap_or_else(|| {
            self.cells.push(Cell {
                name: name.clone(),
                time: None,
                instructions: None,
                allocations: None,
                minor_faults: None,
            });
            self.cells.len() - 1
        });
        &mut self.cells[index]
    }

    /// Returns the cell for a workload, a variant and a column.
    pub(crate) fn find(&self, workload: &str, variant: &str, column: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| {
            let name = &cell.name;
            (name.workload.as_str(), name.variant.as_str(), name.column.as_str())
                == (workload, variant, column)
        })
    }

    /// Returns the workload and the variant of all cells, in the order in which they were added.
    pub(crate) fn variants(&self) -> Vec<(String, String)> {
        let mut variants = Vec::new();
        for cell in &self.cells {
            let variant = (cell.name.workload.clone(), cell.name.variant.clone());
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
        variants.sort_by(|left, right| left.0.cmp(&right.0));
        variants
    }
}

impl Time {
    fn of(timing: &Timing, all: &[Timing]) -> Self {
        let [lower_quartile, median, upper_quartile] = quartiles(&timing.nanoseconds);
        let by = |columns: &[&str]| {
            let other = all.iter().find(|other| {
                other.name.workload == timing.name.workload
                    && other.name.variant == timing.name.variant
                    && columns.contains(&other.name.column.as_str())
            })?;
            Some(ratio(&timing.nanoseconds, &other.nanoseconds))
        };
        Self {
            lower_quartile,
            median,
            upper_quartile,
            batches: timing.nanoseconds.len(),
            by_caller_kept: by(&CALLER_KEPT),
            by_bump_scope: by(&[BUMP_SCOPE]),
        }
    }
}

/// Returns the median of the ratios in each round.
fn ratio(these: &[f64], those: &[f64]) -> f64 {
    let ratios: Vec<f64> = these.iter().zip(those).map(|(this, that)| this / that).collect();
    quartiles(&ratios)[1]
}

/// Returns the quartiles, interpolating linearly between numbers. If there are no numbers, all
/// quartiles are NaN.
fn quartiles(numbers: &[f64]) -> [f64; 3] {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| {
        let position = quarter * sorted.len().saturating_sub(1);
        let (index, rest) = (position / 4, position % 4);
        let Some(low) = sorted.get(index) else { return f64::NAN };
        let high = sorted.get(index + 1).unwrap_or(low);
        low + (high - low) * [0.0, 0.25, 0.5, 0.75][rest]
    })
}

#[cfg(test)]
mod tests {
    use super::{Cell, Name, quartiles, ratio};

    #[test]
    fn figures_that_are_read_are_those_that_were_written() {
        let name = |part: &str| part.to_owned();
        let cell = Cell {
            name: Name { workload: name("a"), variant: name("b"), column: name("c") },
            time: None,
            instructions: Some(12.117_169_873_818_021),
            allocations: Some(0.940_529_239_850_690_1),
            minor_faults: None,
        };
        let written = serde_json::to_string(&cell).unwrap();
        let read: Cell = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
    }

    #[test]
    fn quartiles_of_few_and_of_none() {
        assert_eq!(quartiles(&[5.0, 1.0, 3.0, 2.0, 4.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(&[1.0, 2.0]), [1.25, 1.5, 1.75]);
        assert!(quartiles(&[]).iter().all(|number| number.is_nan()));
    }

    #[test]
    fn a_slow_round_slows_both_and_the_ratio_stays() {
        assert!((ratio(&[2.0, 20.0, 2.0], &[1.0, 10.0, 1.0]) - 2.0).abs() < 1e-12);
    }
}
