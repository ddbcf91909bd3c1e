//! The plan of a device's buffers, now that all lifetimes are known.

use pool_plan::{Buffer, Certificate, IntervalProblem, Options, PlanError};

use super::device::Lifetime;

/// What the planner makes of the buffers of a device.
#[derive(Debug)]
pub(crate) enum Planned {
    /// A plan, which the validator accepts.
    Plan(Certificate),
    /// There is nothing to plan.
    Nothing,
    /// There are more buffers than the planner takes.
    TooMany,
    /// There is no plan within the capacity, or none was found.
    Refused(PlanError),
}

/// Plans the buffers of a device in as few bytes as it can; if those are more than the capacity, within the capacity.
pub(crate) fn plan(
    lifetimes: Option<&[Lifetime]>,
    alignment: u64,
    capacity: u64,
    options: &Options,
) -> Planned {
    let Some(lifetimes) = lifetimes else { return Planned::TooMany };
    if lifetimes.is_empty() {
        return Planned::Nothing;
    }
    let fewest = solve(lifetimes, alignment, options);
    let outcome = match fewest {
        Ok(certificate) if certificate.peak > capacity => {
            solve(lifetimes, alignment, &Options { capacity: Some(capacity), ..options.clone() })
        }
        outcome => outcome,
    };
    match outcome {
        Ok(certificate) => Planned::Plan(certificate),
        Err(error) => Planned::Refused(error),
    }
}

fn solve(
    lifetimes: &[Lifetime],
    alignment: u64,
    options: &Options,
) -> Result<Certificate, PlanError> {
    let time = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
    let buffer = |(index, one): (usize, &Lifetime)| {
        let buffer = Buffer::new(index.to_string(), time(one.lower), time(one.upper), one.bytes);
        Buffer { alignment, ..buffer }
    };
    let problem = IntervalProblem::new(lifetimes.iter().enumerate().map(buffer).collect())?;
    let plan = problem.solve(options)?;
    problem.validate(&plan.offsets).map_err(PlanError::Rejected)?;
    Ok(plan.certificate)
}
