//! The text and the JSON that the command prints about a plan.

use std::io::{self, BufWriter, Write};

use comfy_table::{CellAlignment, Table, presets};
use pool_plan::{Plan, Proof, StopReason};
use serde::Serialize;
use serde_json::{Value, json};

use crate::output::say;
use crate::printable::printable;

use super::problem::Problem;

/// Prints a plan: a table for people, or one JSON object for programs.
///
/// # Errors
///
/// Fails if the standard output cannot be written.
pub(super) fn print(
    name: &str,
    problem: &Problem,
    plan: &Plan,
    seconds: f64,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return Report::new(name, problem, plan, seconds).write(io::stdout().lock());
    }
    let table = table(name, problem, plan, seconds).to_string();
    let lines = std::iter::once(table).chain(untried(plan));
    say(&lines.collect::<Vec<_>>().join("\n"))
}

/// Prints a table for people.
fn table(name: &str, problem: &Problem, plan: &Plan, seconds: f64) -> Table {
    let certificate = &plan.certificate;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["instance", "buffers", "bound", "peak", "ratio", "optimal", "seconds"]);
    table.add_row([
        printable(name),
        problem.len().to_string(),
        certificate.searched_bound.to_string(),
        certificate.peak.to_string(),
        format!("{:.6}", certificate.ratio()),
        optimal(plan.proof).to_owned(),
        format!("{seconds:.3}"),
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Returns a short description of the proof that a plan is optimal.
fn optimal(proof: Proof) -> &'static str {
    match proof {
        Proof::Witness => "yes",
        Proof::Search => "yes, by search",
        Proof::Likely => "proof likely",
        _ => "not proved",
    }
}

/// Lists the heuristics that were not tried, if any of them may lead to a better plan.
fn untried(plan: &Plan) -> Option<String> {
    let names: Vec<String> = plan.untried.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| format!("heuristics not tried: {}", names.join("; ")))
}

/// A plan that is printed as one JSON object, for programs.
#[derive(Serialize)]
struct Report<'a> {
    instance: &'a str,
    buffers: usize,
    bound: u64,
    searched_bound: u64,
    peak: u64,
    ratio: f64,
    optimal: bool,
    stopped: StopReason,
    proof: Proof,
    seconds: f64,
    witness: Vec<&'a str>,
    untried: Vec<String>,
    offsets: Vec<BufferOffset<'a>>,
}

/// The name of a buffer, and the offset at which the plan places it.
#[derive(Serialize)]
struct BufferOffset<'a> {
    id: &'a str,
    offset: u64,
}

impl<'a> Report<'a> {
    /// The report of a plan.
    fn new(name: &'a str, problem: &'a Problem, plan: &Plan, seconds: f64) -> Self {
        let certificate = &plan.certificate;
        let placed = |(index, &offset)| BufferOffset { id: problem.id(index), offset };
        Self {
            instance: name,
            buffers: problem.len(),
            bound: certificate.bound,
            searched_bound: certificate.searched_bound,
            peak: certificate.peak,
            ratio: certificate.ratio(),
            optimal: certificate.is_optimal(),
            stopped: plan.stopped,
            proof: plan.proof,
            seconds,
            witness: certificate.witness.iter().map(|&index| problem.id(index)).collect(),
            untried: plan.untried.iter().map(ToString::to_string).collect(),
            offsets: plan.offsets.iter().enumerate().map(placed).collect(),
        }
    }

    /// Writes the report as one line of JSON.
    fn write(&self, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::new(to);
        serde_json::to_writer(&mut to, self)?;
        writeln!(to)?;
        to.flush()
    }
}

/// An error as a JSON object for programs, with the names of the buffers that witness the error.
pub(super) fn error(message: &str, witness: &[String]) -> Value {
    json!({ "error": message, "witness": witness })
}
