//! Plans a problem with several memories, and checks, writes and reports the plan.

use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::time::Instant;

use comfy_table::{CellAlignment, Table, presets};
use pool_plan::{
    Buffer, MemoryBuffer, MemoryPlan, MemoryProblem, Placement, PlanError, Price, error_chain,
};
use pool_replay::csv;
use serde::Serialize;

use crate::arguments::Solve;
use crate::output::say;
use crate::printable::printable;

use super::failure::Failure;
use super::problem::is_json;
use super::{svg, watch};

/// A problem, and the text from which it was read if that was CSV.
pub(super) struct Memories {
    pub(super) problem: MemoryProblem,
    pub(super) text: Option<String>,
}

impl Memories {
    /// Plans the problem and reports the plan.
    pub(super) fn run(&self, arguments: &Solve, name: &str) -> Result<(), Failure> {
        let problem = &self.problem;
        let start = Instant::now();
        let plan =
            watch::solve(arguments, |options, monitor| problem.solve_watched(options, monitor));
        let seconds = start.elapsed().as_secs_f64();
        let id = |index: usize| problem.buffers()[index].buffer.id.as_str();
        let plan = plan.map_err(|error| Failure::no_plan(&id, name, &error))?;
        if let Err(violation) = problem.validate(&plan) {
            return Err(Failure::bad(error_chain(&PlanError::Rejected(violation))));
        }
        let written = arguments.out.as_ref().map_or(Ok(()), |path| self.write(&plan, path));
        let drawn = arguments.svg.as_ref().map_or(Ok(()), |path| self.draw(&plan, path));
        written.and(drawn).map_err(Failure::bad)?;
        let printed = if arguments.json {
            Report::new(name, problem, &plan, seconds).write()
        } else {
            say(&tables(name, problem, &plan, seconds))
        };
        printed.map_err(Failure::Output)
    }

    /// Writes a plan. If the name of the file ends in `.json`, the plan is written as JSON, and
    /// otherwise as CSV.
    fn write(&self, plan: &MemoryPlan, path: &Path) -> Result<(), String> {
        let text = match &self.text {
            Some(text) if !is_json(path) => {
                let memories = self.problem.memories();
                let text = csv::write_memories(text, memories, &plan.placements);
                text.map_err(|error| error_chain(&error))?
            }
            None if !is_json(path) => table_of(&self.problem, plan),
            _ => {
                let placed = self.problem.buffers().iter().zip(&plan.placements);
                let placed = placed.map(|(one, at)| {
                    let buffer = Buffer { offset: Some(at.offset), ..one.buffer.clone() };
                    MemoryBuffer { buffer, memory: Some(at.memory), ..one.clone() }
                });
                let memories = self.problem.memories().to_vec();
                let placed = MemoryProblem::new(memories, placed.collect());
                let placed = placed.map_err(|error| error_chain(&error))?;
                serde_json::to_string_pretty(&placed).map_err(|error| error.to_string())?
            }
        };
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Draws time and addresses. The memories are drawn one above the other, each as high as its
    /// peak.
    fn draw(&self, plan: &MemoryPlan, path: &Path) -> Result<(), String> {
        let problem = &self.problem;
        let peaks = &plan.certificate.peaks;
        let before = |memory: usize| peaks[..memory].iter().sum::<u64>();
        let buffers = problem.buffers().iter().zip(&plan.placements).map(|(one, at)| {
            let Placement { memory, offset } = *at;
            let id = format!("{}: {}", problem.memories()[memory].name, one.buffer.id);
            let (size, spans) = (one.buffer.size, one.buffer.live_spans().collect());
            svg::Drawn { id, size, spans, offset, bottom: before(memory) }
        });
        let lines = problem.memories().iter().enumerate().map(|(memory, one)| {
            (before(memory) + peaks[memory], format!("{} {}", one.name, peaks[memory]))
        });
        svg::write(&buffers.collect::<Vec<_>>(), &lines.collect::<Vec<_>>(), path)
    }
}

/// Returns a table of the buffers, for problems that were not read from CSV.
fn table_of(problem: &MemoryProblem, plan: &MemoryPlan) -> String {
    let mut text = "id,lower,upper,size,alignment,gaps,memories,traffic,memory,offset\n".to_owned();
    let name = |memory: usize| problem.memories()[memory].name.as_str();
    for (one, at) in problem.buffers().iter().zip(&plan.placements) {
        let Buffer { id, lower, upper, size, alignment, gaps, .. } = &one.buffer;
        let gaps = gaps.iter().map(|gap| format!("{}-{}", gap.lower, gap.upper));
        let gaps = gaps.collect::<Vec<_>>().join(" ");
        let memories =
            one.memories.iter().map(|&memory| name(memory)).collect::<Vec<_>>().join(" ");
        let (id, memories, own) =
            (csv::quoted(id), csv::quoted(&memories), csv::quoted(name(at.memory)));
        let (traffic, offset) = (one.traffic, at.offset);
        text += &format!(
            "{id},{lower},{upper},{size},{alignment},{gaps},{memories},{traffic},{own},{offset}\n"
        );
    }
    text
}

/// Prints two tables for people: the plan, and its memories.
fn tables(name: &str, problem: &MemoryProblem, plan: &MemoryPlan, seconds: f64) -> String {
    let certificate = &plan.certificate;
    let new = |header: &[&str]| {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(header);
        table
    };
    let mut whole = new(&["instance", "buffers", "bound", "cost", "ratio", "optimal", "seconds"]);
    whole.add_row([
        printable(name),
        problem.buffers().len().to_string(),
        certificate.bound.to_string(),
        certificate.cost.to_string(),
        format!("{:.6}", certificate.ratio()),
        if certificate.is_optimal() { "yes" } else { "not proved" }.to_owned(),
        format!("{seconds:.3}"),
    ]);
    let mut parts =
        new(&["memory", "buffers", "capacity", "peak", "cost of held bytes", "of traffic"]);
    for (index, memory) in problem.memories().iter().enumerate() {
        let own = problem.buffers().iter().zip(&plan.placements);
        let own = own.filter(|(_, at)| at.memory == index).map(|(one, _)| one.traffic);
        let (count, traffic) = (own.clone().count(), own.sum::<u64>());
        let peak = certificate.peaks[index];
        parts.add_row([
            printable(&memory.name),
            count.to_string(),
            memory.capacity.map_or_else(String::new, |capacity| capacity.to_string()),
            peak.to_string(),
            (memory.cost * peak).to_string(),
            (memory.traffic_cost * traffic).to_string(),
        ]);
    }
    for table in [&mut whole, &mut parts] {
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{whole}\n{parts}")
}

/// A plan that is printed as one JSON object, for programs.
#[derive(Serialize)]
struct Report<'a> {
    instance: &'a str,
    buffers: usize,
    bound: u64,
    searched_bound: u64,
    cost: u64,
    ratio: f64,
    optimal: bool,
    seconds: f64,
    memories: Vec<MemoryReport<'a>>,
    prices: &'a [Price],
    offsets: Vec<BufferPlacement<'a>>,
}

/// A memory with its peak in bytes.
#[derive(Serialize)]
struct MemoryReport<'a> {
    name: &'a str,
    capacity: Option<u64>,
    peak: u64,
}

/// The name of a buffer, its memory, and its offset in that memory.
#[derive(Serialize)]
struct BufferPlacement<'a> {
    id: &'a str,
    memory: &'a str,
    offset: u64,
}

impl<'a> Report<'a> {
    fn new(name: &'a str, problem: &'a MemoryProblem, plan: &'a MemoryPlan, seconds: f64) -> Self {
        let certificate = &plan.certificate;
        let memories = problem.memories().iter().zip(&certificate.peaks);
        let memories = memories.map(|(memory, &peak)| MemoryReport {
            name: &memory.name,
            capacity: memory.capacity,
            peak,
        });
        let offsets = problem.buffers().iter().zip(&plan.placements);
        let offsets = offsets.map(|(one, at)| BufferPlacement {
            id: &one.buffer.id,
            memory: &problem.memories()[at.memory].name,
            offset: at.offset,
        });
        Self {
            instance: name,
            buffers: problem.buffers().len(),
            bound: certificate.bound,
            searched_bound: certificate.searched_bound,
            cost: certificate.cost,
            ratio: certificate.ratio(),
            optimal: certificate.is_optimal(),
            seconds,
            memories: memories.collect(),
            prices: &certificate.prices,
            offsets: offsets.collect(),
        }
    }

    /// Prints the report as one line of JSON.
    fn write(&self) -> io::Result<()> {
        let mut to = BufWriter::new(io::stdout().lock());
        serde_json::to_writer(&mut to, self)?;
        writeln!(to)?;
        to.flush()
    }
}
