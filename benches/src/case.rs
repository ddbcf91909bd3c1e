//! Cases: a workload on a column, as a single type, and the loop that calls it.

use std::fmt;
use std::hint::black_box;

use crate::record::Name;

/// One workload on one column, ready to run. The argument is the number of passes.
pub type Prepared = Box<dyn FnMut(u64)>;

/// One workload on one column.
#[derive(Clone, Copy)]
pub struct Case {
    /// The workload's name, for example `small arrays`.
    pub workload: &'static str,
    /// The variant of the workload.
    pub variant: &'static str,
    /// The name of the column.
    pub column: &'static str,
    /// Creates the column and warms it up.
    pub prepare: fn() -> Prepared,
}

impl Case {
    /// Returns the name of the case in records.
    #[must_use]
    pub fn name(&self) -> Name {
        Name {
            workload: self.workload.to_owned(),
            variant: self.variant.to_owned(),
            column: self.column.to_owned(),
        }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.workload, self.variant, self.column)
    }
}

/// The work that the loop runs.
pub trait Work: 'static {
    /// The number of passes before the measurement, enough to cycle through every table of random
    /// lengths.
    const WARM_UP: u64 = 256;

    /// The lengths that the loop passes to the work.
    const LENGTHS: [usize; 3] = [100, 100, 100];

    /// Creates the initial state.
    fn new() -> Self;

    /// Runs one pass. Implementations must be `#[inline(never)]`.
    fn run(&mut self, first: usize, second: usize, third: usize);
}

/// Warms up the work, and returns a function that runs the loop.
#[must_use]
pub fn prepare<W: Work>() -> Prepared {
    let mut work = W::new();
    let mut repeated = move |times| repeat(&mut work, times, black_box(W::LENGTHS));
    repeated(W::WARM_UP);
    Box::new(repeated)
}

/// The loop that every case shares.
#[inline(never)]
fn repeat<W: Work>(work: &mut W, times: u64, [first, second, third]: [usize; 3]) {
    for _ in 0..times {
        work.run(first, second, third);
    }
}
