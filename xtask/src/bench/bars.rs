//! The bars: the project's targets, and the verdict of this run on each. They are written into the report; no time
//! makes the task fail.

use super::figures::{Cell, Figures};

/// One bar.
#[derive(Clone, Copy, Debug)]
struct Bar {
    workload: &'static str,
    variant: &'static str,
    column: &'static str,
    measure: Measure,
    /// The most that is within the bar.
    most: f64,
}

/// The number that a bar limits.
#[derive(Clone, Copy, Debug)]
enum Measure {
    /// Instructions of a pass.
    Instructions,
    /// The ratio of the time to that of another column of the same variant; a cycle more is
    /// allowed.
    By(&'static str),
    /// The ratio of the other column's time to this one's, which must be at least this number.
    FasterThan(&'static str),
    /// The ratio of the time to that of the same column in another variant.
    ByVariant(&'static str),
    /// Minor faults of a pass.
    Faults,
}

/// A bar and its measured value.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) case: String,
    /// The aim, in words.
    pub(crate) aim: String,
    /// The most by which a time may be above it.
    pub(crate) tolerance: String,
    pub(crate) measured: String,
    /// The same measure for the cases that a pool is not expected to beat: the call and the loop,
    /// and a buffer that the caller keeps. Empty if there are none.
    pub(crate) floor: String,
    pub(crate) met: Met,
}

/// The result of comparing a number with an aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    Yes,
    /// Met only with the tolerance.
    WithinTolerance,
    No,
}

impl From<bool> for Met {
    fn from(met: bool) -> Self {
        if met { Self::Yes } else { Self::No }
    }
}

const SMALL: &str = "three arrays of f64";
const SEVEN: &str = "seven types";
const NESTED: &str = "nested to depth 4";
const HELPED: &str = "in a helper that gets the scope by reference";
const FIXED: &str = "10 × 10, fixed rank";
const OURS: &str = "pool, explicit";
const LOCAL: &str = "pool, thread-local";
const STACKED: &str = "pool, stacked";
const KEPT: &str = "caller-kept";
const EMPTY: &str = "empty";
const BUMP: &str = "bump-scope, scoped";

const fn bar(
    workload: &'static str,
    variant: &'static str,
    column: &'static str,
    measure: Measure,
    most: f64,
) -> Bar {
    Bar { workload, variant, column, measure, most }
}

const BARS: &[Bar] = &[
    bar("small arrays", SMALL, OURS, Measure::Instructions, 31.0),
    bar("small arrays", SMALL, OURS, Measure::By(KEPT), 1.15),
    bar("small arrays", SMALL, OURS, Measure::By(BUMP), 0.60),
    bar("small arrays", SMALL, OURS, Measure::By("bumpalo"), 0.60),
    bar("small arrays", SMALL, LOCAL, Measure::Instructions, 46.0),
    bar("small arrays", SMALL, LOCAL, Measure::By(KEPT), 1.5),
    bar("small arrays", SMALL, LOCAL, Measure::By(BUMP), 0.80),
    bar("element types", SEVEN, OURS, Measure::Instructions, 65.0),
    bar("element types", SEVEN, OURS, Measure::By(KEPT), 1.15),
    bar("element types", SEVEN, OURS, Measure::By(BUMP), 0.55),
    bar("nesting", NESTED, OURS, Measure::By(KEPT), 1.15),
    bar("nesting", NESTED, OURS, Measure::By(BUMP), 0.50),
    bar("nesting", NESTED, LOCAL, Measure::By(BUMP), 0.90),
    bar("array views", FIXED, OURS, Measure::By(KEPT), 1.25),
    bar("array views", FIXED, OURS, Measure::By(BUMP), 0.60),
    bar("array views", "rank 8, hit", OURS, Measure::By("caller-kept, ndarray's view"), 0.15),
    bar("large arrays", "1 × 8 MB", OURS, Measure::By(KEPT), 1.03),
    bar("large arrays", "3 × 8 MB", OURS, Measure::By(KEPT), 1.03),
    bar("large arrays", "1 × 40 MB", OURS, Measure::By(KEPT), 1.03),
    bar("large arrays", "1 × 8 MB", OURS, Measure::Faults, 0.0),
    bar("large arrays", "3 × 8 MB", OURS, Measure::Faults, 0.0),
    bar("large arrays", "1 × 40 MB", OURS, Measure::Faults, 0.0),
    bar("large arrays", "3 × 8 MB", OURS, Measure::FasterThan("with_capacity"), 4.0),
    bar("varying lengths", "touched", OURS, Measure::By(KEPT), 1.15),
    bar("varying lengths", "touched", OURS, Measure::By("bumpalo"), 0.40),
    bar("threads", "two threads", OURS, Measure::ByVariant("one thread"), 1.05),
    bar("threads", "two threads", LOCAL, Measure::ByVariant("one thread"), 1.05),
    bar("small arrays", SMALL, OURS, Measure::By("published, full"), 0.10),
    bar("small arrays", SMALL, LOCAL, Measure::By("published, full"), 0.15),
    bar("small arrays", HELPED, OURS, Measure::By(KEPT), 1.25),
    bar("small arrays", HELPED, "pool, own scope", Measure::By(KEPT), 1.25),
    bar("small arrays", SMALL, STACKED, Measure::Instructions, 45.0),
    bar("small arrays", SMALL, STACKED, Measure::By(KEPT), 1.25),
    bar("small arrays", SMALL, STACKED, Measure::By(BUMP), 0.60),
    bar("nesting", NESTED, STACKED, Measure::By(BUMP), 0.60),
    bar("array views", "rank 8, hit", STACKED, Measure::By("caller-kept, ndarray's view"), 0.15),
    bar("growth", "a fresh 8 MiB, first write", OURS, Measure::By("kernel, huge pages"), 1.05),
];

/// Returns every bar that this run measured.
pub(crate) fn outcomes(figures: &Figures) -> Vec<Outcome> {
    let mut outcomes: Vec<_> = BARS.iter().filter_map(|bar| bar.outcome(figures)).collect();
    outcomes.push(allocations(figures));
    outcomes
}

/// Checks that no column of this project allocates in steady state.
fn allocations(figures: &Figures) -> Outcome {
    // A shape that was just evicted, and a pool that is emptied each time, have to.
    let rare =
        |cell: &&Cell| cell.name.variant.contains("5 shapes") || cell.name.workload == "growth";
    let ours = figures.cells.iter().filter(|cell| cell.name.column.starts_with("pool"));
    let ours = ours.filter(|cell| !rare(cell)).filter_map(|cell| cell.allocations);
    let counts: Vec<f64> = ours.collect();
    let most = counts.iter().copied().fold(0.0, f64::max);
    Outcome {
        case: "every case, every form of the pool".to_owned(),
        aim: "0 heap allocations".to_owned(),
        tolerance: String::new(),
        measured: format!("at most {most} in {} cases", counts.len()),
        floor: String::new(),
        met: (most == 0.0).into(),
    }
}

impl Bar {
    fn outcome(&self, figures: &Figures) -> Option<Outcome> {
        let cell = figures.find(self.workload, self.variant, self.column)?;
        let most = self.most;
        let mut tolerance = String::new();
        let (aim, measured, met) = match self.measure {
            Measure::Instructions => {
                let count = cell.instructions?;
                (format!("≤ {most} instructions"), format!("{count:.0}"), Met::from(count <= most))
            }
            Measure::Faults => {
                let faults = cell.minor_faults?;
                (format!("{most} minor faults"), format!("{faults:.1}"), Met::from(faults <= most))
            }
            Measure::By(column) => {
                let other = figures.find(self.workload, self.variant, column)?;
                tolerance = format!("{CYCLE} ns");
                by(cell, other, most, column)?
            }
            Measure::ByVariant(variant) => {
                let other = figures.find(self.workload, variant, self.column)?;
                tolerance = format!("{CYCLE} ns");
                by(cell, other, most, variant)?
            }
            Measure::FasterThan(column) => {
                let other = figures.find(self.workload, self.variant, column)?;
                let ratio = other.time?.median / cell.time?.median;
                let aim = format!("≥ {most} × faster than {column}");
                (aim, format!("{ratio:.2}"), Met::from(ratio >= most))
            }
        };
        let case = format!("{}: {}, {}", self.workload, self.variant, self.column);
        Some(Outcome { case, aim, tolerance, measured, floor: self.floor(figures), met })
    }

    /// Returns the bar's ratio of times for `empty` and `caller-kept`.
    fn floor(&self, figures: &Figures) -> String {
        let ratio = |column: &&str| {
            let (variant, by) = match self.measure {
                Measure::By(by) => (self.variant, by),
                Measure::ByVariant(variant) => (variant, *column),
                _ => return None,
            };
            if self.variant == variant && by == *column {
                return None;
            }
            let floor = figures.find(self.workload, self.variant, column)?.time?.median;
            let base = figures.find(self.workload, variant, by)?.time?.median;
            Some(format!("{column} {:.2}", floor / base))
        };
        [EMPTY, KEPT].iter().filter_map(ratio).collect::<Vec<_>>().join(", ")
    }
}

/// A clock cycle, by which the alignment of code moves a case.
const CYCLE: f64 = 0.25;

fn by(cell: &Cell, other: &Cell, most: f64, name: &str) -> Option<(String, String, Met)> {
    let (this, that) = (cell.time?, other.time?);
    let ratio = match name {
        KEPT => this.by_caller_kept.unwrap_or(this.median / that.median),
        BUMP => this.by_bump_scope.unwrap_or(this.median / that.median),
        _ => this.median / that.median,
    };
    let met = if ratio <= most {
        Met::Yes
    } else if this.median <= most * that.median + CYCLE {
        Met::WithinTolerance
    } else {
        Met::No
    };
    Some((format!("≤ {most} × {name}"), format!("{ratio:.2}"), met))
}
