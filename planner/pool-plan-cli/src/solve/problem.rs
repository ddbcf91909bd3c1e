//! A problem of either kind, with the operations that both kinds share.

use std::path::Path;

use pool_plan::{
    GraphBuffer, GraphRecord, IntervalProblem, Monitor, Options, Plan, PlanError, Violation,
};

/// A problem of either kind.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Buffers with lifetimes, and the text from which they were read if that was CSV.
    Interval(IntervalProblem, Option<String>),
    /// The record of a graph.
    HappensBefore(GraphRecord),
}

impl Problem {
    /// Returns the number of buffers.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Interval(problem, _) => problem.buffers().len(),
            Self::HappensBefore(record) => record.problem().buffers().len(),
        }
    }

    /// Returns the name of a buffer.
    pub(crate) fn id(&self, index: usize) -> &str {
        match self {
            Self::Interval(problem, _) => &problem.buffers()[index].id,
            Self::HappensBefore(record) => &record.problem().buffers()[index].id,
        }
    }

    /// Plans the problem.
    pub(crate) fn solve(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        match self {
            Self::Interval(problem, _) => problem.solve_watched(options, monitor),
            Self::HappensBefore(record) => record.problem().solve_watched(options, monitor),
        }
    }

    /// Validates the offsets of a plan. Returns the bound that its witness proves.
    pub(crate) fn validate(&self, plan: &Plan) -> Result<u64, Violation> {
        let (offsets, witness) = (&plan.offsets, &plan.certificate.witness);
        match self {
            Self::Interval(problem, _) => {
                problem.validate(offsets)?;
                problem.validate_witness(witness)
            }
            Self::HappensBefore(record) => {
                record.problem().validate(offsets)?;
                record.problem().validate_witness(witness)
            }
        }
    }

    /// Returns the size of each buffer, and the spans during which it is live. For an interval
    /// problem, the spans are spans of time. For a graph, they are spans of operations from the
    /// alloc marker to the last free marker.
    pub(crate) fn spans(&self) -> Vec<(u64, Vec<(i64, i64)>)> {
        match self {
            Self::Interval(problem, _) => {
                let spans = problem.buffers().iter();
                spans.map(|buffer| (buffer.size, buffer.live_spans().collect())).collect()
            }
            Self::HappensBefore(record) => {
                let problem = record.problem();
                let end = problem.operations();
                let span = |buffer: &GraphBuffer| {
                    let last = buffer.freed_by.iter().max().map_or(end, |last| last + 1);
                    let number = |operation| i64::try_from(operation).unwrap_or(i64::MAX);
                    (buffer.size, vec![(number(buffer.allocated_by), number(last))])
                };
                problem.buffers().iter().map(span).collect()
            }
        }
    }
}

/// Returns `true` if the extension of a file name is `json`.
pub(super) fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}
