//! The JSON that the harness prints for `cargo xtask bench`. Both programs compile this file.

use serde::{Deserialize, Serialize};

/// The name of a case.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The workload's name, for example `small arrays`.
    pub workload: String,
    /// The variant of the workload.
    pub variant: String,
    /// The name of the column.
    pub column: String,
}

/// The batches of one case. They were interleaved with the batches of the variant's other cases.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// The name of the case.
    pub name: Name,
    /// The thread's CPU time per pass for each batch, in nanoseconds.
    pub nanoseconds: Vec<f64>,
    /// Minor page faults per pass, averaged over all batches; `None` if the system does not report
    /// them.
    pub minor_faults: Option<f64>,
}

/// A count per pass of a case: either instructions or heap allocations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Count {
    /// The name of the case.
    pub name: Name,
    /// The count per pass.
    pub count: f64,
}

/// The memory that a column holds in steady state when lengths vary.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    /// The name of the case.
    pub name: Name,
    /// The peak of the requested bytes.
    pub peak_live: u64,
    /// The bytes held at the end.
    pub held: u64,
    /// Blocks allocated from the system during the second half, per thousand scopes.
    pub late_growths: Option<f64>,
}
