//! Plans buffers with lifetimes, which are given as columns, and returns their offsets.

use pool_plan::{
    Buffer, GreedyHeuristic, IntervalProblem, Monitor, Plan, PlanError, Proof, StopReason,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::errors;
use crate::options::Wanted;
use crate::watch::watched;
use crate::words::{column, signed, unsigned};

/// A plan in Python's types. The offsets and the witness are the bytes of arrays.
#[derive(IntoPyObject)]
pub(crate) struct Planned<'py> {
    offsets: Bound<'py, PyByteArray>,
    peak: u64,
    bound: u64,
    searched_bound: u64,
    witness: Bound<'py, PyByteArray>,
    stopped: &'static str,
    proof: &'static str,
    untried: Vec<String>,
}

/// The columns of a problem, as the bytes of arrays. In `offset`, -1 means that a buffer may be
/// placed anywhere.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Columns<'py> {
    id: Option<Vec<String>>,
    lower: Bound<'py, PyBytes>,
    upper: Bound<'py, PyBytes>,
    size: Bound<'py, PyBytes>,
    alignment: Bound<'py, PyBytes>,
    offset: Bound<'py, PyBytes>,
}

/// Plans the buffers that the columns describe.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    columns: Columns<'py>,
    wanted: Wanted,
    last: Bound<'py, PyBytes>,
) -> PyResult<Planned<'py>> {
    let options = wanted.options()?;
    let buffers = columns.buffers()?;
    let last: Vec<Option<u64>> =
        signed(&last).into_iter().map(|offset| u64::try_from(offset).ok()).collect();
    let monitor = Monitor::new();
    let work = || -> Result<Plan, PlanError> {
        let problem = IntervalProblem::new(buffers)?;
        let plan = problem.solve_from(&last, &options, &monitor)?;
        // Every plan that a Python user receives has passed the validator, in all builds.
        problem.validate(&plan.offsets).map_err(PlanError::Rejected)?;
        Ok(plan)
    };
    let plan = watched(py, work, || monitor.cancel())?;
    let Plan { offsets, certificate, stopped, proof, untried } =
        plan.map_err(|error| errors::of_plan(py, &error))?;
    Ok(Planned {
        offsets: column(py, offsets.into_iter().map(u64::to_ne_bytes))?,
        peak: certificate.peak,
        bound: certificate.bound,
        searched_bound: certificate.searched_bound,
        witness: column(py, certificate.witness.into_iter().map(usize::to_ne_bytes))?,
        stopped: stop_name(stopped),
        proof: proof_name(proof),
        untried: untried.iter().map(GreedyHeuristic::to_string).collect(),
    })
}

/// Returns the name of a stop reason in Python.
fn stop_name(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Optimal => "optimal",
        StopReason::GoodEnough => "good_enough",
        StopReason::Rounds => "rounds",
        StopReason::Budget => "budget",
        StopReason::Cancelled => "cancelled",
        _ => "other",
    }
}

/// Returns the name of a proof in Python.
fn proof_name(proof: Proof) -> &'static str {
    match proof {
        Proof::Witness => "witness",
        Proof::Search => "search",
        Proof::Likely => "likely",
        Proof::Unlikely => "unlikely",
        _ => "other",
    }
}

impl Columns<'_> {
    fn buffers(&self) -> PyResult<Vec<Buffer>> {
        let (lower, upper) = (signed(&self.lower), signed(&self.upper));
        let (size, alignment) = (unsigned(&self.size), unsigned(&self.alignment));
        let offset = signed(&self.offset);
        let count = lower.len();
        let lengths = [upper.len(), size.len(), alignment.len(), offset.len()];
        let ids = self.id.as_ref().map_or(count, Vec::len);
        if lengths.into_iter().chain([ids]).any(|length| length != count) {
            return Err(PyValueError::new_err("the columns must have the same length"));
        }
        let buffer = |index: usize| Buffer {
            id: self.id.as_ref().map_or_else(String::new, |ids| ids[index].clone()),
            lower: lower[index],
            upper: upper[index],
            size: size[index],
            alignment: alignment[index],
            offset: u64::try_from(offset[index]).ok(),
            gaps: Vec::new(),
        };
        Ok((0..count).map(buffer).collect())
    }
}
