//! The report of a log for people.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, TableComponent, presets};
use indicatif::HumanBytes;

use pool_replay::{
    AllocatorReport, At, BufferReport, DeviceReport, EventReport, FaultReport, Report,
};

use crate::printable::{printable, shortened};

use super::sparkline::sparkline;

/// Failures and faults that are shown; `--json` has more.
const SHOWN: usize = 5;
/// Frames of a buffer that are shown.
const FRAMES: usize = 2;
/// Characters of a frame that are shown; `--json` has all.
const FRAME_SHOWN: usize = 160;

/// Prints a report.
pub(crate) fn print(report: &Report, to: &mut impl Write) -> io::Result<()> {
    let (events, devices) = (report.events, report.devices.len());
    let format = format!("{:?}", report.format).to_lowercase();
    writeln!(to, "{}: {format}, {events} events, {devices} devices", printable(&report.log))?;
    if let Some(operations) = report.operations {
        writeln!(
            to,
            "a graph of {operations} operations, here one after the other by their numbers; plan and bound are"
        )?;
        writeln!(to, "for whatever its edges leave open")?;
    }
    report.devices.iter().try_for_each(|one| device(one, to))
}

fn device(report: &DeviceReport, to: &mut impl Write) -> io::Result<()> {
    let DeviceReport { device, events, buffers, streams, .. } = report;
    writeln!(to, "\ndevice {device}: {events} events, {buffers} buffers, {streams} streams")?;
    if report.freed_on_another_stream > 0 {
        let count = report.freed_on_another_stream;
        writeln!(to, "freed on another stream than their own: {count} buffers")?;
    }
    if report.freed_late > 0 {
        writeln!(to, "given up, and free only later: {} buffers", report.freed_late)?;
    }
    let peak = report.peak_live;
    let at = report.peak_at.as_ref().map_or_else(String::new, |at| format!(", {}", place(at)));
    writeln!(to, "peak: {peak} bytes live ({}){at}", HumanBytes(peak))?;
    writeln!(to, "{}", held(report))?;
    curves(report, to)?;
    table(to, "largest at the peak", &report.largest_at_peak)?;
    failures(report, to)?;
    faults(&report.faults, report.fault_count, to)?;
    let left = &report.live_at_end;
    if left.buffers > 0 {
        let (buffers, bytes) = (left.buffers, left.bytes);
        let title = format!("never freed: {buffers} buffers, {bytes} bytes, the largest of them");
        table(to, &title, &left.largest)?;
    }
    Ok(())
}

/// A place and its time.
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

/// What each allocator holds.
fn held(report: &DeviceReport) -> Table {
    let mut table = new_table(&["allocator", "bytes held", "", "of live", "first failure"], 1..4);
    let mut row = |name: &str, held: Option<u64>, failure: String| {
        let ratio = held.and_then(|held| report.ratio(held));
        table.add_row([
            name.to_owned(),
            held.map_or_else(|| "-".to_owned(), |held| held.to_string()),
            held.map_or_else(String::new, |held| HumanBytes(held).to_string()),
            ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")),
            failure,
        ]);
    };
    if report.held_by_log.is_some() {
        row("the log's own", report.held_by_log, String::new());
    }
    for one in &report.allocators {
        row(one.allocator.name(), one.held, failure(one));
    }
    if report.bound.is_some() {
        row("lower bound", report.bound, String::new());
    }
    table
}

fn failure(report: &AllocatorReport) -> String {
    let event = report.fails_at.as_ref();
    let event = event.map(|one| format!("{} bytes, {}", one.bytes, place(&one.at)));
    event.into_iter().chain(report.message.clone()).collect::<Vec<_>>().join("; ")
}

/// Live bytes over time, and for each allocator how much of what it holds is not live.
fn curves(report: &DeviceReport, to: &mut impl Write) -> io::Result<()> {
    let curve = &report.curve;
    writeln!(to, "{:>14} {}", "live", sparkline(&curve.live, report.peak_live))?;
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
        writeln!(to, "{name:>9} idle {} up to {most} %", sparkline(&percent, 100))
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
            one.frames.iter().take(FRAMES).map(|one| frame(one)).collect::<Vec<_>>().join(" < "),
        ]);
    }
    writeln!(to, "{title}:\n{table}")
}

/// A frame as far as it is shown: a name may have millions of characters.
fn frame(text: &str) -> String {
    printable(&shortened(text, FRAME_SHOWN))
}

fn failures(report: &DeviceReport, to: &mut impl Write) -> io::Result<()> {
    if report.failure_count == 0 {
        return Ok(());
    }
    writeln!(to, "allocations that failed: {}", report.failure_count)?;
    for EventReport { at, bytes, stream, frames } in report.failures.iter().take(SHOWN) {
        let by = frames.first().map_or_else(String::new, |one| format!(", by {}", frame(one)));
        writeln!(to, "  {}: {bytes} bytes on stream {stream:x}{by}", place(at))?;
    }
    Ok(())
}

fn faults(faults: &[FaultReport], count: u64, to: &mut impl Write) -> io::Result<()> {
    if count == 0 {
        return Ok(());
    }
    writeln!(to, "events that cannot be: {count}")?;
    for FaultReport { at, message, .. } in faults.iter().take(SHOWN) {
        writeln!(to, "  {}: {message}", place(at))?;
    }
    Ok(())
}
