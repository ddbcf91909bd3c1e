//! Plans the buffers of a device, whose lifetimes are all known, or the buffers of a graph.

use pool_plan::{Buffer, Certificate, HappensBeforeProblem, IntervalProblem, Options, PlanError};

use super::device::Lifetime;

/// The result of planning the buffers of a device.
#[derive(Debug)]
pub(crate) enum Planned {
    /// A plan that has passed the validator.
    Plan(Certificate),
    /// There are no buffers to plan.
    Nothing,
    /// There are more buffers than the planner supports.
    TooMany,
    /// There is no plan within the capacity, or none was found.
    Refused(PlanError),
}

/// The information that orders the buffers of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order<'a> {
    /// The lifetimes of the buffers in the log, or `None` if there are too many buffers.
    Sequence(Option<&'a [Lifetime]>),
    /// The edges of a graph.
    Graph(&'a HappensBeforeProblem),
}

/// Plans the buffers of a device in as few bytes as possible. If the buffers do not fit within the
/// capacity, they are planned again for that capacity.
pub(crate) fn plan(order: Order<'_>, alignment: u64, capacity: u64, options: &Options) -> Planned {
    let solve = |options: &Options| match order {
        Order::Sequence(None) => Ok(None),
        Order::Sequence(Some(lifetimes)) => solve_sequence(lifetimes, alignment, options).map(Some),
        Order::Graph(problem) => solve_graph(problem, alignment, options).map(Some),
    };
    if matches!(order, Order::Sequence(Some([]))) {
        return Planned::Nothing;
    }
    let outcome = match solve(options) {
        Ok(Some(certificate)) if certificate.peak > capacity => {
            solve(&Options { capacity: Some(capacity), ..options.clone() })
        }
        outcome => outcome,
    };
    match outcome {
        Ok(Some(certificate)) => Planned::Plan(certificate),
        Ok(None) => Planned::TooMany,
        Err(error) => Planned::Refused(error),
    }
}

fn solve_sequence(
    lifetimes: &[Lifetime],
    alignment: u64,
    options: &Options,
) -> Result<Certificate, PlanError> {
    let time = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
    let buffer = |one: &Lifetime| {
        let buffer = Buffer::unnamed(time(one.lower), time(one.upper), one.bytes);
        Buffer { alignment, ..buffer }
    };
    let problem = IntervalProblem::new(lifetimes.iter().map(buffer).collect())?;
    let plan = problem.solve(options)?;
    problem.validate(&plan.offsets).map_err(PlanError::Rejected)?;
    Ok(plan.certificate)
}

/// Plans the buffers of a graph. The offsets in a record are ignored.
fn solve_graph(
    problem: &HappensBeforeProblem,
    alignment: u64,
    options: &Options,
) -> Result<Certificate, PlanError> {
    let mut buffers = problem.clone().without_offsets().buffers().to_vec();
    buffers.iter_mut().for_each(|buffer| buffer.alignment = buffer.alignment.max(alignment));
    let problem =
        HappensBeforeProblem::new(problem.operations(), problem.edges().to_vec(), buffers)?;
    let plan = problem.solve(options)?;
    problem.validate(&plan.offsets).map_err(PlanError::Rejected)?;
    Ok(plan.certificate)
}
