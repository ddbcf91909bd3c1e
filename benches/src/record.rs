//! The JSON that the harness prints for `cargo xtask bench`; compiled into both.

use serde::{Deserialize, Serialize};

/// The name of a case.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The workload's name, as `small arrays`.
    pub workload: String,
    /// The variant of the workload.
    pub variant: String,
    /// The way to get temporaries.
    pub column: String,
}

/// The batches of one case; those of the cases of a variant were interleaved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// The name of the case.
    pub name: Name,
    /// Thread CPU time of each batch, in nanoseconds for one pass.
    pub nanoseconds: Vec<f64>,
    /// Minor page faults of a pass, over all batches; `None` if the system does not report them.
    pub minor_faults: Option<f64>,
}

/// Something that is counted for one pass of a case: instructions or heap allocations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Count {
    /// The name of the case.
    pub name: Name,
    /// The number in one pass.
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
    /// Blocks taken from the system in the second half, for each thousand scopes.
    pub late_growths: Option<f64>,
}
