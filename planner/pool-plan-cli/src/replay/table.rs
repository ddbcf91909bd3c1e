//! Prints the report of a log for people.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, TableComponent, presets};
use indicatif::HumanBytes;

use pool_replay::{
    Allocator, AllocatorReport, At, BufferReport, DeviceReport, EventReport, FaultReport, Report,
};

use crate::printable::{printable, shortened};

use super::sparkline::sparkline;

/// The number of failures and faults that are shown. The output of `--json` includes more of them.
const SHOWN: usize = 5;
/// The number of frames of a buffer that are shown.
const FRAMES: usize = 2;
/// The number of characters of a frame that are shown. The output of `--json` includes all
/// characters.
const FRAME_SHOWN: usize = 160;

/// Prints a report.
pub(crate) fn print(report: &Report, to: &mut impl Write) -> io::Result<()> {
    let (events, devices) = (counted(report.events, "event"), report.devices.len() as u64);
    let (log, format) = (printable(&report.log), report.format.name());
    writeln!(to, "{log}: {format}, {events}, {}", counted(devices, "device"))?;
    if report.skipped_lines > 0 {
        writeln!(to, "skipped: {} without an event", counted(report.skipped_lines, "line"))?;
    }
    if let Some(operations) = report.operations {
        writeln!(
            to,
            "a graph of {}; this report replays them in numerical order, but the plan and the \
             bound",
            counted(operations as u64, "operation")
        )?;
        writeln!(to, "are valid for every order that the edges allow")?;
    }
    report.devices.iter().try_for_each(|one| device(one, to))
}

fn device(report: &DeviceReport, to: &mut impl Write) -> io::Result<()> {
    let (events, buffers) = (counted(report.events, "event"), counted(report.buffers, "buffer"));
    let streams = counted(report.streams as u64, "stream");
    writeln!(to, "\ndevice {}: {events}, {buffers}, {streams}", report.device)?;
    if report.freed_on_another_stream > 0 {
        let count = counted(report.freed_on_another_stream, "buffer");
        writeln!(to, "freed on a stream other than the allocating stream: {count}")?;
    }
    if report.freed_late > 0 {
        let (buffers, late) = (counted(report.freed_late, "buffer"), report.late_at_peak);
        writeln!(
            to,
            "freed, but reusable only later: {buffers}; {} of the peak",
            HumanBytes(late)
        )?;
    }
    let peak = report.peak_live;
    let at = report.peak_at.as_ref().map_or_else(String::new, |at| format!(", {}", place(at)));
    writeln!(to, "peak: {} live ({}){at}", counted(peak, "byte"), HumanBytes(peak))?;
    if let Some(part) = &report.held_in_part {
        let (held, live) = (counted(part.held, "byte"), counted(part.live, "byte"));
        writeln!(
            to,
            "the log's own allocator held {held} while {live} were live, {};",
            place(&part.at)
        )?;
        writeln!(
            to,
            "the log lacks some of its device allocations, so the held bytes are unknown"
        )?;
    }
    writeln!(to, "{}", held(report))?;
    if !report.pools.is_empty() {
        writeln!(to, "{}", pools(report))?;
    }
    curves(report, to)?;
    table(to, "largest at the peak", &report.largest_at_peak)?;
    failures(report, to)?;
    faults(&report.faults, report.fault_count, to)?;
    let left = &report.live_at_end;
    if left.buffers > 0 {
        let (buffers, bytes) = (counted(left.buffers, "buffer"), counted(left.bytes, "byte"));
        let title = format!("never freed: {buffers}, {bytes}, the largest of them");
        table(to, &title, &left.largest)?;
    }
    Ok(())
}

/// Returns a number of things as text, such as `1 buffer` or `2 buffers`.
fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Returns the frames to show. The frames start at the innermost frame that has a file or is an
/// operator of PyTorch, because PyTorch's stacks begin with its own unwinder and allocator.
fn shown(frames: &[String]) -> &[String] {
    let has_file = |frame: &String| !frame.starts_with("?? ");
    let is_operator = |frame: &String| frame.starts_with("?? at::_ops::");
    let first = frames.iter().position(has_file).or_else(|| frames.iter().position(is_operator));
    &frames[first.unwrap_or(0)..]
}

/// Returns a place in the log and its time as text.
fn place(at: &At) -> String {
    at.time.map_or_else(|| at.place.clone(), |time| format!("{}, time {time}", at.place))
}

fn new_table(header: &[&str], right: std::ops::Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.remove_style(TableComponent::HorizontalLines);
    table.remove_style(TableComponent::MiddleIntersections);
    table.set_header(header);
    for column in right {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Returns the table of the memory that each allocator held.
fn held(report: &DeviceReport) -> Table {
    let mut table =
        new_table(&["allocator", "bytes held", "", "of live", "padding", "first failure"], 1..5);
    let mut row = |name: &str, held: Option<u64>, padding: Option<u64>, failure: String| {
        let ratio = held.and_then(|held| report.ratio(held));
        table.add_row([
            name.to_owned(),
            held.map_or_else(|| "-".to_owned(), |held| held.to_string()),
            held.map_or_else(String::new, |held| HumanBytes(held).to_string()),
            ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")),
            padding.map_or_else(String::new, |bytes| HumanBytes(bytes).to_string()),
            failure,
        ]);
    };
    if report.held_by_log.is_some() {
        row("the log's own", report.held_by_log, None, String::new());
    }
    for one in &report.allocators {
        row(one.allocator.name(), one.held, one.padding, failure(one));
    }
    if report.bound.is_some() {
        row("lower bound", report.bound, None, String::new());
    }
    table
}

/// Returns the table of the private pools, with a column for each allocator that has such pools.
fn pools(report: &DeviceReport) -> Table {
    let allocators: Vec<Allocator> =
        report.allocators.iter().map(|one| one.allocator).filter(|&one| has_pools(one)).collect();
    let held = allocators.iter().map(|one| format!("held by {}", one.name()));
    let header = ["pool", "buffers", "peak live"].map(str::to_owned).into_iter().chain(held);
    let header: Vec<String> = header.collect();
    let names: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = new_table(&names, 1..header.len());
    for one in &report.pools {
        let name = match one.pool {
            (0, 0) => "default".to_owned(),
            (first, second) => format!("({first}, {second})"),
        };
        let mut row = vec![name, one.buffers.to_string(), one.peak_live.to_string()];
        for allocator in &allocators {
            let held = one.held.iter().find(|(known, _)| known == allocator);
            row.push(held.map_or_else(|| "-".to_owned(), |(_, held)| held.to_string()));
        }
        table.add_row(row);
    }
    table
}

fn has_pools(allocator: Allocator) -> bool {
    matches!(allocator, Allocator::Caching | Allocator::Expandable)
}

fn failure(report: &AllocatorReport) -> String {
    let event = report.fails_at.as_ref();
    let event = event.map(|one| format!("{}, {}", counted(one.bytes, "byte"), place(&one.at)));
    event.into_iter().chain(report.message.clone()).collect::<Vec<_>>().join("; ")
}

/// Prints the live bytes over time and, for each allocator, the share of its held bytes that is not
/// live.
fn curves(report: &DeviceReport, to: &mut impl Write) -> io::Result<()> {
    let curve = &report.curve;
    writeln!(to, "{:>15} {}", "live", sparkline(&curve.live, report.peak_live))?;
    let mut idle = |name: &str, held: &[u64]| {
        let percent: Vec<u64> = held
            .iter()
            .zip(&curve.live)
            .map(|(&held, &live)| {
                let idle = u128::from(held.saturating_sub(live)) * 100 / u128::from(held.max(1));
                u64::try_from(idle).unwrap_or(100)
            })
            .collect();
        let most = percent.iter().max().copied().unwrap_or(0);
        writeln!(to, "{name:>10} idle {} up to {most} %", sparkline(&percent, 100))
    };
    if let Some(held) = &curve.held_by_log {
        idle("log's own", held)?;
    }
    curve.allocators.iter().try_for_each(|(allocator, held)| idle(allocator.name(), held))
}

fn table(to: &mut impl Write, title: &str, buffers: &[BufferReport]) -> io::Result<()> {
    if buffers.is_empty() {
        return Ok(());
    }
    let mut table = new_table(&["bytes", "", "address", "stream", "allocated", "by"], 0..4);
    for one in buffers {
        table.add_row([
            one.bytes.to_string(),
            HumanBytes(one.bytes).to_string(),
            format!("{:#x}", one.address),
            format!("{:x}", one.stream),
            place(&one.at),
            shown(&one.frames)
                .iter()
                .take(FRAMES)
                .map(|one| frame(one))
                .collect::<Vec<_>>()
                .join(" < "),
        ]);
    }
    writeln!(to, "{title}:\n{table}")
}

/// Returns the part of a frame that is shown. A name may be millions of characters long.
fn frame(text: &str) -> String {
    printable(&shortened(text, FRAME_SHOWN))
}

fn failures(report: &DeviceReport, to: &mut impl Write) -> io::Result<()> {
    if report.failure_count == 0 {
        return Ok(());
    }
    writeln!(to, "allocations that failed: {}", report.failure_count)?;
    for EventReport { at, bytes, stream, frames } in report.failures.iter().take(SHOWN) {
        let by = shown(frames).first();
        let by = by.map_or_else(String::new, |one| format!(", by {}", frame(one)));
        let bytes = counted(*bytes, "byte");
        writeln!(to, "  {}: {bytes} on stream {stream:x}{by}", place(at))?;
    }
    Ok(())
}

fn faults(faults: &[FaultReport], count: u64, to: &mut impl Write) -> io::Result<()> {
    if count == 0 {
        return Ok(());
    }
    writeln!(to, "impossible events: {count}")?;
    for FaultReport { at, message, .. } in faults.iter().take(SHOWN) {
        writeln!(to, "  {}: {message}", place(at))?;
    }
    Ok(())
}
