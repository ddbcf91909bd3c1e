//! A picture of one device. Time increases to the right, and addresses increase upwards. Each
//! buffer is drawn as a rectangle in the colour of its caller. The live bytes are drawn below.
//!
//! Most of an address space is usually empty. Only ranges that buffers have ever used are drawn, on
//! top of each other, with a line at each omitted range. If there are too many buffers, only those
//! that cover most of the picture are drawn.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::log::{Event, Place, Stack};
use crate::replay::frame_text;

use super::bytes::Bytes;
use super::recording::{Buffer, Recording};

const WIDTH: f64 = 1100.0;
/// The heights of the two charts.
const HEIGHTS: [f64; 2] = [480.0, 110.0];
const LEFT: f64 = 90.0;
const TOP: f64 = 46.0;
/// The gap between the charts.
const BETWEEN: f64 = 34.0;
const LEGEND_LINE: f64 = 17.0;
/// The maximum number of buffers that are drawn. If more buffers were drawn, some would be thinner
/// than a pixel.
const MOST_DRAWN: usize = 10_000;
/// The colours of the callers with the most memory. Most people can tell these colours apart, even
/// in greyscale print.
const COLOURS: [&str; 8] =
    ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#44bb99"];
/// The minimum gap between two ranges, in bytes, that is marked as an omission.
const LEAST_BREAK: u64 = 1 << 16;
const OTHERS: &str = "#bbbbbb";

/// Writes the picture of a device's buffers.
pub(super) fn write(
    recording: &Recording,
    buffers: &[Buffer],
    mut to: impl Write,
) -> io::Result<()> {
    let times = recording.times();
    let end = times.last().map_or(1, |last| last + 1);
    let axes = Axes::new(buffers, times, end);
    let callers = Callers::new(recording, buffers);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = draw(&mut text, buffers, &axes, &callers);
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// Maps times and addresses to positions in the picture.
struct Axes {
    times: Vec<u64>,
    end: u64,
    /// The unit of times.
    unit: &'static str,
    /// The ranges of addresses that are drawn, each with the number of bytes drawn below it.
    ranges: Vec<(u64, u64, u64)>,
    height: u64,
    /// The live bytes after each event that changes them.
    live: Vec<(usize, u64)>,
    peak: u64,
}

impl Axes {
    fn new(buffers: &[Buffer], times: Vec<u64>, end: u64) -> Self {
        let (ranges, height) = ranges(buffers);
        let live = live(buffers);
        let peak = live.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0).max(1);
        let is_graph =
            buffers.iter().any(|one| matches!(one.live.event.place, Place::Operation(_)));
        let unit = if is_graph { "operations" } else { "microseconds" };
        Self { times, end, unit, ranges, height, live, peak }
    }

    fn time(&self, index: usize) -> u64 {
        self.times.get(index).copied().unwrap_or(self.end)
    }

    #[expect(clippy::cast_precision_loss, reason = "pixels")]
    fn x(&self, index: usize) -> f64 {
        LEFT + self.time(index) as f64 / self.end.max(1) as f64 * WIDTH
    }

    #[expect(clippy::cast_precision_loss, reason = "pixels")]
    fn y(&self, address: u64) -> f64 {
        let at = self.ranges.partition_point(|&(start, ..)| start <= address);
        let (start, _, below) = self.ranges.get(at.saturating_sub(1)).copied().unwrap_or_default();
        let above = (below + (address - start)) as f64;
        TOP + HEIGHTS[0] * (1.0 - above / self.height.max(1) as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "pixels")]
    fn live_y(&self, bytes: u64) -> f64 {
        live_bottom() - HEIGHTS[1] * bytes as f64 / self.peak as f64
    }
}

fn live_bottom() -> f64 {
    TOP + HEIGHTS[0] + BETWEEN + HEIGHTS[1]
}

/// Returns the ranges of used addresses, and the sum of their sizes. Ranges that touch are joined.
pub(super) fn ranges(buffers: &[Buffer]) -> (Vec<(u64, u64, u64)>, u64) {
    let mut all: Vec<(u64, u64)> = buffers
        .iter()
        .map(|buffer| (buffer.live.event.address, buffer.live.event.bytes))
        .map(|(address, bytes)| (address, address + bytes))
        .collect();
    all.sort_unstable();
    let mut ranges: Vec<(u64, u64, u64)> = Vec::new();
    let mut height = 0;
    for (start, end) in all {
        match ranges.last_mut().filter(|last| start <= last.1) {
            Some(last) => {
                height += end.saturating_sub(last.1);
                last.1 = last.1.max(end);
            }
            None => {
                ranges.push((start, end, height));
                height += end - start;
            }
        }
    }
    (ranges, height)
}

fn live(buffers: &[Buffer]) -> Vec<(usize, u64)> {
    let mut changes: Vec<(usize, bool, u64)> = Vec::new();
    for buffer in buffers {
        let bytes = buffer.live.event.asked();
        changes.push((buffer.lower, true, bytes));
        if buffer.is_freed {
            changes.push((buffer.upper, false, bytes));
        }
    }
    changes.sort_unstable();
    let mut live = 0_u64;
    let mut after = |(index, is_allocation, bytes)| {
        live = if is_allocation { live + bytes } else { live - bytes };
        (index, live)
    };
    changes.into_iter().map(&mut after).collect()
}

/// The callers that allocated the most memory, measured in bytes times events, and the colours of
/// their buffers.
struct Callers {
    named: Vec<(String, &'static str)>,
    colours: HashMap<Stack, &'static str>,
}

impl Callers {
    fn new(recording: &Recording, buffers: &[Buffer]) -> Self {
        let mut weights: HashMap<String, (u128, Vec<Stack>)> = HashMap::new();
        for buffer in buffers {
            let Event { stack, .. } = buffer.live.event;
            let caller = recording.frames.owner(stack).map(frame_text);
            let Some(caller) = caller else { continue };
            let (weight, stacks) = weights.entry(caller).or_default();
            *weight += area(buffer);
            if !stacks.contains(&stack) {
                stacks.push(stack);
            }
        }
        let mut order: Vec<_> = weights.into_iter().collect();
        order.sort_by(|(one, (a, _)), (other, (b, _))| b.cmp(a).then_with(|| one.cmp(other)));
        let mut callers = Self { named: Vec::new(), colours: HashMap::new() };
        for ((caller, (_, stacks)), colour) in order.into_iter().zip(COLOURS) {
            callers.named.push((caller, colour));
            callers.colours.extend(stacks.into_iter().map(|stack| (stack, colour)));
        }
        callers
    }

    /// Returns the colour of a buffer. If the callers are not known, neighbours have different
    /// colours.
    fn colour(&self, buffer: &Buffer) -> &'static str {
        if self.named.is_empty() {
            let at = buffer.live.number % COLOURS.len() as u64;
            return usize::try_from(at).ok().and_then(|at| COLOURS.get(at)).unwrap_or(&OTHERS);
        }
        self.colours.get(&buffer.live.event.stack).unwrap_or(&OTHERS)
    }
}

/// Returns the area of the picture that a buffer covers.
pub(super) fn area(buffer: &Buffer) -> u128 {
    u128::from(buffer.live.event.bytes) * (buffer.upper - buffer.lower) as u128
}

fn draw(text: &mut String, buffers: &[Buffer], axes: &Axes, callers: &Callers) -> std::fmt::Result {
    #[expect(clippy::cast_precision_loss, reason = "pixels")]
    let legend = callers.named.len() as f64 * LEGEND_LINE;
    let (width, height) = (LEFT + WIDTH + 24.0, live_bottom() + 44.0 + legend);
    writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>"
    )?;
    let mut order: Vec<&Buffer> = buffers.iter().collect();
    order.sort_by_key(|buffer| std::cmp::Reverse(area(buffer)));
    order.truncate(MOST_DRAWN);
    let left_out = buffers.len() - order.len();
    let note = if left_out > 0 {
        format!(", {left_out} small buffers are not drawn")
    } else {
        String::new()
    };
    let (held, peak) = (Bytes(axes.height), Bytes(axes.peak));
    writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"20\" font-size=\"15\">{} buffer{} at {held} of addresses; at most \
         {peak} are live at once{note}</text>",
        buffers.len(),
        if buffers.len() == 1 { "" } else { "s" },
    )?;
    order.iter().try_for_each(|buffer| rectangle(text, buffer, axes, callers))?;
    breaks(text, axes)?;
    live_chart(text, axes)?;
    frame(text, axes)?;
    for (index, (caller, colour)) in callers.named.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "pixels")]
        let y = live_bottom() + 40.0 + index as f64 * LEGEND_LINE;
        writeln!(
            text,
            "<rect x=\"{LEFT}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{y}\">{}</text>",
            y - 10.0,
            LEFT + 18.0,
            xml_text(caller),
        )?;
    }
    text.push_str("</svg>\n");
    Ok(())
}

fn rectangle(
    text: &mut String,
    buffer: &Buffer,
    axes: &Axes,
    callers: &Callers,
) -> std::fmt::Result {
    let Event { address, bytes, stream, .. } = buffer.live.event;
    let (left, right) = (axes.x(buffer.lower), axes.x(buffer.upper));
    let (top, bottom) = (axes.y(address) - height_of(bytes, axes), axes.y(address));
    writeln!(
        text,
        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" \
         stroke=\"white\" stroke-width=\"0.4\"><title>{bytes} bytes at {address:#x}, stream \
         {stream:x}, {}</title></rect>",
        (right - left).max(0.3),
        (bottom - top).max(0.3),
        callers.colour(buffer),
        buffer.live.event.place,
    )
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
fn height_of(bytes: u64, axes: &Axes) -> f64 {
    bytes as f64 / axes.height.max(1) as f64 * HEIGHTS[0]
}

/// Draws lines at omitted addresses. Small gaps are not marked, because they usually show only that
/// an allocator has rounded a size up.
fn breaks(text: &mut String, axes: &Axes) -> std::fmt::Result {
    for two in axes.ranges.windows(2) {
        let ((_, end, _), (start, ..)) = (two[0], two[1]);
        if start - end < LEAST_BREAK {
            continue;
        }
        let (y, right) = (axes.y(start), LEFT + WIDTH);
        writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#888\" \
             stroke-width=\"0.5\" stroke-dasharray=\"2 3\"/>"
        )?;
    }
    Ok(())
}

fn live_chart(text: &mut String, axes: &Axes) -> std::fmt::Result {
    let bottom = live_bottom();
    write!(text, "<path d=\"M{LEFT} {bottom}")?;
    for &(index, bytes) in &axes.live {
        write!(text, "H{:.1}V{:.1}", axes.x(index), axes.live_y(bytes))?;
    }
    writeln!(text, "H{}V{bottom}Z\" fill=\"#4477aa\" fill-opacity=\"0.5\"/>", LEFT + WIDTH)
}

/// Draws the axes, with their units.
fn frame(text: &mut String, axes: &Axes) -> std::fmt::Result {
    let (right, middle) = (LEFT + WIDTH, TOP + HEIGHTS[0]);
    let bottom = live_bottom();
    writeln!(
        text,
        "<path d=\"M{LEFT} {TOP}V{middle}H{right}M{LEFT} {}V{bottom}H{right}\" fill=\"none\" \
         stroke=\"#333\"/>",
        bottom - HEIGHTS[1],
    )?;
    let mut label = |x: f64, y: f64, anchor: &str, words: &str| {
        writeln!(text, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>")
    };
    for quarter in 0..=4_u64 {
        #[expect(clippy::cast_precision_loss, reason = "pixels")]
        let (share, part) = (quarter as f64 / 4.0, |whole: u64| {
            u64::try_from(u128::from(whole) * u128::from(quarter) / 4).unwrap_or(whole)
        });
        let y = middle - share * HEIGHTS[0];
        label(LEFT - 6.0, y + 4.0, "end", &Bytes(part(axes.height)).to_string())?;
        let anchor = if quarter == 0 { "start" } else { "end" };
        label(LEFT + share * WIDTH, bottom + 15.0, anchor, &part(axes.end).to_string())?;
    }
    label(LEFT - 6.0, bottom - HEIGHTS[1] + 4.0, "end", &Bytes(axes.peak).to_string())?;
    label(LEFT - 6.0, bottom, "end", "0")?;
    let is_time = axes.end != axes.times.len() as u64;
    let unit = if is_time { axes.unit } else { "events" };
    label(LEFT, TOP - 8.0, "start", "addresses in use (a dashed line marks omitted addresses)")?;
    label(LEFT, bottom - HEIGHTS[1] - 8.0, "start", &format!("live bytes, over {unit}"))
}

/// Returns a text for SVG and XML. The function escapes `&`, `<` and `>`, and replaces characters
/// that XML does not allow.
#[must_use]
pub fn xml_text(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace(
        |letter: char| letter.is_control() || "\u{fffe}\u{ffff}".contains(letter),
        "\u{fffd}",
    )
}
