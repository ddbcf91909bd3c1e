//! What the command prints about a plan.

use std::io::{BufWriter, Write};

use comfy_table::{CellAlignment, Table, presets};
use pool_plan::Plan;
use serde::Serialize;
use serde_json::{Value, json};

use super::files::Problem;

/// A table for people.
pub(crate) fn table(name: &str, problem: &Problem, plan: &Plan, seconds: f64) -> Table {
    let certificate = &plan.certificate;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["instance", "buffers", "bound", "peak", "ratio", "optimal", "seconds"]);
    table.add_row([
        name.to_owned(),
        problem.len().to_string(),
        certificate.bound.to_string(),
        certificate.peak.to_string(),
        format!("{:.6}", certificate.ratio()),
        if certificate.is_optimal() { "yes" } else { "not proved" }.to_owned(),
        format!("{seconds:.3}"),
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// One object for programs.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    instance: &'a str,
    buffers: usize,
    bound: u64,
    searched_bound: u64,
    peak: u64,
    ratio: f64,
    optimal: bool,
    seconds: f64,
    witness: Vec<&'a str>,
    offsets: Vec<Placed<'a>>,
}

/// Where a buffer is.
#[derive(Serialize)]
struct Placed<'a> {
    id: &'a str,
    offset: u64,
}

impl<'a> Report<'a> {
    /// Of a plan.
    pub(crate) fn new(name: &'a str, problem: &'a Problem, plan: &Plan, seconds: f64) -> Self {
        let certificate = &plan.certificate;
        let placed = |(index, &offset)| Placed { id: problem.id(index), offset };
        Self {
            instance: name,
            buffers: problem.len(),
            bound: certificate.bound,
            searched_bound: certificate.searched_bound,
            peak: certificate.peak,
            ratio: certificate.ratio(),
            optimal: certificate.is_optimal(),
            seconds,
            witness: certificate.witness.iter().map(|&index| problem.id(index)).collect(),
            offsets: plan.offsets.iter().enumerate().map(placed).collect(),
        }
    }

    /// Writes it as a line.
    pub(crate) fn write(&self, to: impl Write) -> std::io::Result<()> {
        let mut to = BufWriter::new(to);
        serde_json::to_writer(&mut to, self)?;
        writeln!(to)?;
        to.flush()
    }
}

/// What went wrong, for programs, and the names of the buffers that make it so.
pub(crate) fn error(message: &str, witness: &[&str]) -> Value {
    json!({ "error": message, "witness": witness })
}
