//! Writes a plan as a table or JSON with the offsets, and as a picture.

use std::fmt::Write as _;
use std::path::Path;

use pool_plan::{Buffer, GraphBuffer, IntervalProblem, Plan, error_chain};
use pool_replay::csv;

use crate::arguments::Solve;

use super::problem::{Problem, is_json};
use super::svg;

/// Returns an error if the arguments would write the picture over the problem or the plan.
pub(super) fn check(arguments: &Solve) -> Result<(), String> {
    let others = [arguments.out.as_ref(), Some(&arguments.file)];
    if arguments.svg.is_some() && others.contains(&arguments.svg.as_ref()) {
        let message = "--svg names the same file as the problem or --out: choose another file for \
                       the picture";
        return Err(message.to_owned());
    }
    Ok(())
}

/// Writes the files that the arguments name. The picture is written even if the plan cannot be
/// written.
pub(super) fn write(arguments: &Solve, problem: &Problem, plan: &Plan) -> Result<(), String> {
    let written = arguments.out.as_ref().map_or(Ok(()), |path| write_plan(problem, plan, path));
    let drawn = arguments.svg.as_ref().map_or(Ok(()), |path| draw(problem, plan, path));
    written.and(drawn)
}

/// Draws a plan, with lines at its peak and its bound.
fn draw(problem: &Problem, plan: &Plan, path: &Path) -> Result<(), String> {
    let buffers = problem.spans().into_iter().zip(&plan.offsets).enumerate();
    let buffers = buffers.map(|(index, ((size, spans), &offset))| svg::Drawn {
        id: problem.id(index).to_owned(),
        size,
        spans,
        offset,
        bottom: 0,
    });
    let (peak, bound) = (plan.certificate.peak, plan.certificate.bound);
    let lines = [(peak, format!("peak {peak}")), (bound, format!("bound {bound}"))];
    svg::write(&buffers.collect::<Vec<_>>(), &lines, path)
}

/// Writes a plan. If the name of the file ends in `.json`, the plan is written as JSON, and
/// otherwise as CSV or a table.
fn write_plan(problem: &Problem, plan: &Plan, path: &Path) -> Result<(), String> {
    let text = match problem {
        _ if is_json(path) => json(problem, plan)?,
        Problem::Interval(_, Some(text)) => {
            csv::write(text, &plan.offsets).map_err(|error| error_chain(&error))?
        }
        Problem::Interval(problem, None) => interval_table(problem, plan),
        Problem::HappensBefore(record) => graph_table(record.problem().buffers(), plan),
    };
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the problem with the offsets of a plan.
fn json(problem: &Problem, plan: &Plan) -> Result<String, String> {
    let offsets = || plan.offsets.iter().copied().map(Some);
    let text = match problem {
        Problem::Interval(problem, _) => {
            let mut buffers = problem.buffers().to_vec();
            buffers.iter_mut().zip(offsets()).for_each(|(one, offset)| one.offset = offset);
            let placed = IntervalProblem::new(buffers).map_err(|error| error_chain(&error))?;
            serde_json::to_string_pretty(&placed)
        }
        Problem::HappensBefore(record) => {
            let mut buffers = record.problem().buffers().to_vec();
            buffers.iter_mut().zip(offsets()).for_each(|(one, offset)| one.offset = offset);
            let placed = record.clone().with_buffers(buffers);
            let placed = placed.map_err(|error| error_chain(&error))?;
            // The capacity that was recorded before does not apply to this plan.
            let placed = match record.capacity() {
                Some(_) => placed.with_capacity(plan.certificate.peak),
                None => placed,
            };
            serde_json::to_string_pretty(&placed)
        }
    };
    text.map_err(|error| error.to_string())
}

// Writing to a string cannot fail.
fn interval_table(problem: &IntervalProblem, plan: &Plan) -> String {
    let mut text = "id,lower,upper,size,alignment,gaps,offset\n".to_owned();
    for (buffer, offset) in problem.buffers().iter().zip(&plan.offsets) {
        let gaps = buffer.gaps.iter().map(|gap| format!("{}-{}", gap.lower, gap.upper));
        let gaps = gaps.collect::<Vec<_>>().join(" ");
        let Buffer { id, lower, upper, size, alignment, .. } = buffer;
        let id = csv::quoted(id);
        let _ = writeln!(text, "{id},{lower},{upper},{size},{alignment},{gaps},{offset}");
    }
    text
}

fn graph_table(buffers: &[GraphBuffer], plan: &Plan) -> String {
    let mut text = "id,size,alignment,offset\n".to_owned();
    for (GraphBuffer { id, size, alignment, .. }, offset) in buffers.iter().zip(&plan.offsets) {
        let _ = writeln!(text, "{},{size},{alignment},{offset}", csv::quoted(id));
    }
    text
}
