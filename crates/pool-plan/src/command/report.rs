//! What the command prints about a plan.

use comfy_table::{CellAlignment, Table, presets};
use pool_plan::Plan;
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
pub(crate) fn object(name: &str, problem: &Problem, plan: &Plan, seconds: f64) -> Value {
    let certificate = &plan.certificate;
    let named = |index: usize| json!({ "id": problem.id(index), "offset": plan.offsets[index] });
    let witness = certificate.witness.iter().map(|&index| problem.id(index));
    json!({
        "instance": name,
        "buffers": problem.len(),
        "bound": certificate.bound,
        "searched_bound": certificate.searched_bound,
        "peak": certificate.peak,
        "ratio": certificate.ratio(),
        "optimal": certificate.is_optimal(),
        "seconds": seconds,
        "witness": witness.collect::<Vec<_>>(),
        "offsets": (0..problem.len()).map(named).collect::<Vec<_>>(),
    })
}

/// What went wrong, for programs, and the names of the buffers that make it so.
pub(crate) fn error(message: &str, witness: &[&str]) -> Value {
    json!({ "error": message, "witness": witness })
}
