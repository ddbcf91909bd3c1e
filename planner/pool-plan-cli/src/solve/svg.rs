//! Draws a plan. Time increases to the right, and addresses increase upwards. One line marks the
//! peak, and another line marks the bound.

use std::fmt::Write as _;
use std::path::Path;

use pool_replay::export::xml_text;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 700.0;
const MARGIN: f64 = 40.0;

/// A buffer in a picture.
pub(super) struct Drawn {
    /// The buffer's name.
    pub(super) id: String,
    /// The buffer's size in bytes.
    pub(super) size: u64,
    /// The spans during which the buffer is live.
    pub(super) spans: Vec<(i64, i64)>,
    /// The buffer's offset in its memory.
    pub(super) offset: u64,
    /// The bytes that are drawn below the buffer's memory.
    pub(super) bottom: u64,
}

/// Writes the picture of buffers, with a line at each of the given heights.
pub(super) fn write(buffers: &[Drawn], lines: &[(u64, String)], path: &Path) -> Result<(), String> {
    let text = picture(buffers, lines);
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

// Writing to a string cannot fail.
#[expect(clippy::cast_precision_loss, reason = "pixels")]
fn picture(buffers: &[Drawn], lines: &[(u64, String)]) -> String {
    let spans = || buffers.iter().flat_map(|one| &one.spans);
    let begin = spans().map(|span| span.0).min().unwrap_or(0);
    let end = spans().map(|span| span.1).max().unwrap_or(1);
    let top = lines.iter().map(|line| line.0).max().unwrap_or(0);
    let (duration, top) = (end.abs_diff(begin).max(1) as f64, top.max(1) as f64);
    let x = |time: i64| MARGIN + time.abs_diff(begin) as f64 / duration * WIDTH;
    let y = |address: u64| MARGIN + (1.0 - address as f64 / top) * HEIGHT;
    let (full_width, full_height) = (WIDTH + 2.0 * MARGIN, HEIGHT + 2.0 * MARGIN);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full_width} {full_height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{full_width}\" height=\"{full_height}\" fill=\"white\"/>\n"
    );
    for (index, Drawn { id, size, spans, offset, bottom }) in buffers.iter().enumerate() {
        let start = bottom + offset;
        let (low, high) = (y(start), y(start + size));
        // The golden angle gives neighbours clearly different colours.
        let hue = (index as f64 * 137.508) % 360.0;
        let id = xml_text(id);
        for &(lower, upper) in spans {
            let (left, right) = (x(lower), x(upper));
            let _ = writeln!(
                text,
                "<rect x=\"{left:.2}\" y=\"{high:.2}\" width=\"{:.2}\" height=\"{:.2}\" \
                 fill=\"hsl({hue:.0},60%,70%)\" stroke=\"#333\" stroke-width=\"0.3\">\
                 <title>{id}: {size} bytes at {offset}, [{lower}, {upper})</title></rect>",
                right - left,
                low - high,
            );
        }
    }
    for (index, (height, label)) in lines.iter().enumerate() {
        let colour = if index % 2 == 0 { "#c00" } else { "#06c" };
        line(&mut text, y(*height), colour, &xml_text(label));
    }
    let (bottom, right) = (MARGIN + HEIGHT, MARGIN + WIDTH);
    let _ = writeln!(
        text,
        "<path d=\"M{MARGIN} {MARGIN}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\
         <text x=\"{MARGIN}\" y=\"{0}\">address 0, time {begin}</text>\
         <text x=\"{right}\" y=\"{0}\" text-anchor=\"end\">time {end}</text>",
        bottom + 16.0,
    );
    text.push_str("</svg>\n");
    text
}

fn line(text: &mut String, y: f64, colour: &str, label: &str) {
    let end = MARGIN + WIDTH;
    // The labels of lines at the same height are drawn side by side.
    let (anchor, x) = if colour == "#c00" { ("start", MARGIN) } else { ("end", end) };
    let _ = writeln!(
        text,
        "<line x1=\"{MARGIN}\" x2=\"{end}\" y1=\"{y:.2}\" y2=\"{y:.2}\" stroke=\"{colour}\" \
         stroke-width=\"1.5\" stroke-dasharray=\"6 3\"/>\
         <text x=\"{x}\" y=\"{:.2}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{label}</text>",
        y - 6.0,
    );
}
