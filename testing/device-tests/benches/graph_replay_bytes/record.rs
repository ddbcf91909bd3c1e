//! Prints the measurements as a table and as JSON, and exports the programs for other benches.

use std::fmt;
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::programs::{self, Step};

/// The bytes and the time of one method of capturing.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) bytes: u64,
    /// The median time of one replay; `None` on the simulated driver.
    pub(crate) microseconds: Option<f64>,
}

/// The outcome of one method of capturing.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Measured(Measured),
    /// The policy does not support such a capture.
    Refused,
}

/// The measurements of one capture, with sizes in bytes unless stated otherwise.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    /// The number of the capture, and the generator's seed.
    pub(crate) capture: u64,
    pub(crate) streams: usize,
    pub(crate) temporaries: usize,
    /// The bytes that the program requests.
    pub(crate) requested: u64,
    /// The same, rounded up to whole granules.
    pub(crate) sum: u64,
    /// The peak of live bytes in call order. It is not a bound if the capture forks.
    pub(crate) peak_by_calls: u64,
    /// A lower bound on the bytes of any layout.
    pub(crate) lower_bound: u64,
    pub(crate) monotone: Outcome,
    pub(crate) linear: Outcome,
    pub(crate) planned: Outcome,
    /// The device memory that graphs have reserved.
    pub(crate) memory_nodes: Outcome,
}

/// The measurements of all captures.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    device: String,
    simulated: bool,
    captures: Vec<Record>,
}

/// A program for other implementations. Its steps have the names used in `programs.rs`.
#[derive(Debug, Serialize)]
pub(crate) struct Program {
    capture: u64,
    streams: usize,
    steps: Vec<(&'static str, Vec<usize>)>,
}

impl Program {
    pub(crate) fn new(capture: u64, program: &programs::Program) -> Self {
        let step = |step: &Step| match *step {
            Step::Take { stream, bytes } => ("take", vec![stream, bytes]),
            Step::Use { stream, temporary } => ("use", vec![stream, temporary]),
            Step::Read { stream, temporary } | Step::CopyOut { stream, temporary } => {
                ("read", vec![stream, temporary])
            }
            Step::End { temporary } => ("end", vec![temporary]),
            Step::Wait { later, earlier } => ("wait", vec![later, earlier]),
        };
        let steps = program.steps.iter().map(step).collect();
        Self { capture, streams: program.streams, steps }
    }
}

impl Report {
    pub(crate) fn new(device: String, simulated: bool, captures: Vec<Record>) -> Self {
        Self { device, simulated, captures }
    }
}

/// Returns the peak of live bytes in call order.
pub(crate) fn peak(program: &programs::Program) -> u64 {
    let (mut live, mut peak, mut sizes) = (0, 0, program.sizes.iter());
    for step in &program.steps {
        match *step {
            Step::Take { .. } => live += sizes.next().copied().unwrap_or(0),
            Step::End { temporary } => live -= program.sizes[temporary],
            _ => {}
        }
        peak = peak.max(live);
    }
    peak as u64
}

/// Writes the results to files in a directory, or prints them if there is no directory.
///
/// # Errors
///
/// Fails if a file cannot be written.
pub(crate) fn write(
    folder: Option<PathBuf>,
    programs: &[Program],
    report: &Report,
) -> Result<(), Box<dyn std::error::Error>> {
    let Some(folder) = folder else {
        println!("{}", serde_json::to_string(report)?);
        return Ok(());
    };
    std::fs::create_dir_all(&folder)?;
    let file = |name: &str| folder.join(name);
    std::fs::write(file("graph_replay_programs.json"), serde_json::to_string(programs)?)?;
    std::fs::write(file("graph_replay_bytes.json"), serde_json::to_string_pretty(report)?)?;
    println!("graph_replay_programs.json and graph_replay_bytes.json are in {}", folder.display());
    Ok(())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("refused"),
            Self::Measured(Measured { bytes, microseconds: None }) => write!(f, "{bytes}"),
            Self::Measured(Measured { bytes, microseconds: Some(time) }) => {
                write!(f, "{bytes}, {time:.1} us")
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header([
            "capture",
            "streams",
            "temporaries",
            "requested",
            "sum",
            "peak by calls",
            "bound",
            "Monotone",
            "Linear",
            "Planned",
            "memory nodes",
        ]);
        for record in &self.captures {
            let Record { capture, streams, temporaries, requested, sum, .. } = record;
            table.add_row([
                capture.to_string(),
                streams.to_string(),
                temporaries.to_string(),
                requested.to_string(),
                sum.to_string(),
                record.peak_by_calls.to_string(),
                record.lower_bound.to_string(),
                record.monotone.to_string(),
                record.linear.to_string(),
                record.planned.to_string(),
                record.memory_nodes.to_string(),
            ]);
        }
        table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        writeln!(f, "device: {}", self.device)?;
        if self.simulated {
            writeln!(f, "bytes alone: the simulator's times mean nothing and are not shown")?;
        }
        write!(f, "{table}")
    }
}
