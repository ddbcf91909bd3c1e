//! Buffers with lifetimes, in columns, to offsets.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pool_plan::{Buffer, GreedyHeuristic, IntervalProblem, Monitor, Plan, PlanError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::options::Wanted;
use crate::watch::watched;

/// Offsets, peak, bound, bound by search, witness, and the names of heuristics that were not tried.
type Planned<'py> =
    (Bound<'py, PyArray1<u64>>, u64, u64, u64, Bound<'py, PyArray1<usize>>, Vec<String>);

/// The columns of a problem; `offset` has -1 where a buffer may be anywhere.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Columns<'py> {
    id: Option<Vec<String>>,
    lower: PyReadonlyArray1<'py, i64>,
    upper: PyReadonlyArray1<'py, i64>,
    size: PyReadonlyArray1<'py, u64>,
    alignment: PyReadonlyArray1<'py, u64>,
    offset: PyReadonlyArray1<'py, i64>,
}

/// Plans the buffers of some columns.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    columns: Columns<'py>,
    wanted: Wanted,
) -> PyResult<Planned<'py>> {
    let options = wanted.options()?;
    let buffers = columns.buffers()?;
    let monitor = Monitor::new();
    let work = || -> Result<Plan, PlanError> {
        let problem = IntervalProblem::new(buffers)?;
        let plan = problem.solve_watched(&options, &monitor)?;
        // What a user of Python gets has passed the validator in every build.
        problem.validate(&plan.offsets).map_err(PlanError::Rejected)?;
        Ok(plan)
    };
    let plan = watched(py, work, || monitor.cancel())?;
    let Plan { offsets, certificate, untried } =
        plan.map_err(|error| errors::of_plan(py, &error))?;
    Ok((
        offsets.into_pyarray(py),
        certificate.peak,
        certificate.bound,
        certificate.searched_bound,
        certificate.witness.into_pyarray(py),
        untried.iter().map(GreedyHeuristic::to_string).collect(),
    ))
}

impl Columns<'_> {
    fn buffers(&self) -> PyResult<Vec<Buffer>> {
        let (lower, upper) = (self.lower.as_array(), self.upper.as_array());
        let (size, alignment) = (self.size.as_array(), self.alignment.as_array());
        let offset = self.offset.as_array();
        let count = lower.len();
        let lengths = [upper.len(), size.len(), alignment.len(), offset.len()];
        let ids = self.id.as_ref().map_or(count, Vec::len);
        if lengths.into_iter().chain([ids]).any(|length| length != count) {
            return Err(PyValueError::new_err("the columns are not equally long"));
        }
        let buffer = |index: usize| Buffer {
            id: self.id.as_ref().map_or_else(|| index.to_string(), |ids| ids[index].clone()),
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
