//! `pool-plan replay`: read once, then plan, then report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write as _};
use std::path::Path;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressBarIter, ProgressStyle};
use pool_plan::{HappensBeforeProblem, error_chain};
use serde_json::json;

use crate::arguments::Replay;
use crate::log::{self, Event, Format, Frames, LogError};
use crate::policy::Allocator;
use crate::printable::printable;

use super::device::Device;
use super::planned::{Order, plan};
use super::report::{self, AllocatorReport, Report, Verdict};
use super::table;

const SUCCESS: u8 = 0;
const NO_ROOM: u8 = 1;
const BAD_INPUT: u8 = 2;
const INCONSISTENT: u8 = 3;

/// Replays a log.
pub(crate) fn run(arguments: &Replay) -> ExitCode {
    let report = match replay(arguments) {
        Ok(report) => report,
        Err(error) => return refuse(arguments, &error),
    };
    if let Err(error) = print(&report, arguments.json) {
        eprintln!("error: {error}");
        return ExitCode::from(BAD_INPUT);
    }
    let code = exit_code(&report);
    if code == BAD_INPUT {
        eprintln!("error: {}: there is no plan: {}", report.log, left_out(&report));
    }
    ExitCode::from(code)
}

/// Opens a log, with a bar of progress on a terminal, and finds its format out, unless it is given.
pub(crate) fn open(
    path: &Path,
    format: Option<Format>,
) -> Result<(BufReader<ProgressBarIter<File>>, Format), LogError> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let bar =
        if io::stderr().is_terminal() { ProgressBar::new(length) } else { ProgressBar::hidden() };
    let template = "{wide_bar} {bytes}/{total_bytes} {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let mut source = BufReader::with_capacity(1 << 16, bar.wrap_read(file));
    let format = match format {
        Some(format) => format,
        None => Format::of(&mut source)?,
    };
    Ok((source, format))
}

fn replay(arguments: &Replay) -> Result<Report, LogError> {
    let (mut source, format) = open(&arguments.file, arguments.from)?;
    let allocators = arguments.allocators();
    let capacity = arguments.capacity.unwrap_or(u64::MAX);
    let mut frames = Frames::new();
    let mut devices: BTreeMap<u32, Device> = BTreeMap::new();
    let mut events = 0;
    let mut sink = |event: Event| {
        events += 1;
        let new = || Device::new(&allocators, capacity);
        devices.entry(event.device).or_insert_with(new).event(event);
    };
    let graph = log::read(&mut source, format, &mut frames, &mut sink)?;
    source.into_inner().progress.finish_and_clear();

    let options = arguments.options();
    let mut reports = Vec::new();
    for (&number, device) in &mut devices {
        device.end();
        let planned = allocators.contains(&Allocator::Planned).then(|| {
            let lifetimes = device.lifetimes.as_deref();
            let order = graph.as_ref().map_or(Order::Sequence(lifetimes), Order::Graph);
            plan(order, arguments.align.unwrap_or(1), capacity, &options)
        });
        reports.push(report::device(number, device, planned.as_ref(), &frames));
    }
    let operations = graph.as_ref().map(HappensBeforeProblem::operations);
    Ok(Report {
        log: arguments.file.display().to_string(),
        format,
        events,
        operations,
        consistent: devices.values().all(|device| device.faults.count == 0),
        capacity: arguments.capacity,
        devices: reports,
    })
}

/// 3 for a log that is inconsistent; 1 if no allocator that was tried does with the capacity on each device; 2 if only a
/// plan was asked for, and there is more to plan than the planner takes, as `solve` says it; else 0.
pub(super) fn exit_code(report: &Report) -> u8 {
    if !report.consistent {
        return INCONSISTENT;
    }
    let verdict = |allocator: Allocator| {
        let all = report.devices.iter().flat_map(|device| &device.allocators);
        all.filter(|one| one.allocator == allocator).map(AllocatorReport::verdict).max()
    };
    let shown = report.devices.first().map_or(&[][..], |device| &device.allocators);
    let verdicts: Vec<Verdict> = shown.iter().filter_map(|one| verdict(one.allocator)).collect();
    if verdicts.is_empty() || verdicts.contains(&Verdict::Fits) {
        return SUCCESS;
    }
    if verdicts.iter().all(|&one| one == Verdict::Unknown) {
        return BAD_INPUT;
    }
    // Without a capacity there is room in 64 bits, or sizes that are nobody's.
    report.capacity.map_or(SUCCESS, |_| NO_ROOM)
}

/// Why a plan was left out.
fn left_out(report: &Report) -> &str {
    let mut all = report.devices.iter().flat_map(|device| &device.allocators);
    all.find_map(|one| one.message.as_deref()).unwrap_or_default()
}

fn print(report: &Report, as_json: bool) -> io::Result<()> {
    let mut to = io::BufWriter::new(io::stdout().lock());
    if as_json {
        serde_json::to_writer(&mut to, report)?;
        writeln!(to)?;
    } else {
        table::print(report, &mut to)?;
    }
    to.flush()
}

fn refuse(arguments: &Replay, error: &LogError) -> ExitCode {
    let message = format!("{}: {}", arguments.file.display(), error_chain(error));
    if arguments.json {
        println!("{}", json!({ "error": message }));
    }
    eprintln!("error: {}", printable(&message));
    ExitCode::from(BAD_INPUT)
}
