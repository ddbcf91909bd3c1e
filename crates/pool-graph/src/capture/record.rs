//! The record of a body's temporaries, in the `pool-plan` file format.

use pool_plan::{Caller, GraphRecord, HappensBeforeProblem};

use super::body::{Model, Region};
use super::error::CaptureError;

/// Returns a planning problem's record. This record does not contain a plan's offsets.
pub(super) fn of(
    problem: &HappensBeforeProblem,
    model: &Model,
    regions: &[Region],
    capacity: u64,
) -> Result<GraphRecord, CaptureError> {
    let temporaries = regions.iter().filter(|region| region.is_temporary());
    let record = GraphRecord::new(problem.clone()).with_capacity(capacity);
    let record = record.with_callers(temporaries.map(caller).collect())?;
    Ok(record.with_streams(model.streams().to_vec())?)
}

/// Returns a copy of the record with a plan's offsets added. The offsets are omitted if they rely
/// on an order that only the verifier found.
pub(super) fn with_offsets(record: &GraphRecord, offsets: &[u64]) -> GraphRecord {
    record.clone().with_offsets(offsets).unwrap_or_else(|_| record.clone())
}

fn caller(region: &Region) -> Caller {
    let Some((function, at)) = region.site.call else { return Caller::default() };
    Caller { filename: at.file().to_owned(), line: at.line(), name: function.to_owned() }
}
