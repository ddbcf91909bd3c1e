//! The plot: the time for three small arrays in each column, as bars on a logarithmic axis.

use plotters::prelude::*;

use super::figures::{Cell, Figures};
use crate::TaskError;

const SIZE: (u32, u32) = (900, 560);
const OURS: RGBColor = RGBColor(0, 90, 180);
const PEERS: RGBColor = RGBColor(170, 170, 170);

/// A bar: its name, its length, and the range that contains the middle half of the batches.
struct Bar<'f> {
    column: &'f str,
    median: f64,
    quartiles: [f64; 2],
}

/// Draws the cells of a variant as SVG, with the fastest cell on top.
pub(crate) fn draw(figures: &Figures, workload: &str, variant: &str) -> Result<String, TaskError> {
    let of_variant = |cell: &&Cell| cell.name.workload == workload && cell.name.variant == variant;
    let mut bars: Vec<Bar<'_>> = figures
        .cells
        .iter()
        .filter(of_variant)
        .filter_map(|cell| {
            let time = cell.time?;
            let quartiles = [time.lower_quartile, time.upper_quartile];
            Some(Bar { column: &cell.name.column, median: time.median, quartiles })
        })
        .collect();
    bars.sort_by(|left, right| right.median.total_cmp(&left.median));
    if bars.is_empty() {
        return Err(format!("there are no times for {workload} {variant}").into());
    }
    draw_bars(&bars, &format!("{workload}: {variant}, nanoseconds for one pass"))
}

fn draw_bars(bars: &[Bar<'_>], caption: &str) -> Result<String, TaskError> {
    let longest = bars.iter().map(|bar| bar.quartiles[1]).fold(1.0, f64::max);
    let count = i32::try_from(bars.len())?;
    let mut picture = String::new();
    let area = SVGBackend::with_string(&mut picture, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(caption, ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(36)
        .y_label_area_size(190)
        .build_cartesian_2d((0.5..longest * 1.6).log_scale(), (0..count - 1).into_segmented())?;
    let label = |place: &SegmentValue<i32>| match place {
        SegmentValue::CenterOf(index) => usize::try_from(*index)
            .ok()
            .and_then(|index| bars.get(index))
            .map_or(String::new(), |bar| bar.column.to_owned()),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .y_labels(bars.len())
        .y_label_formatter(&label)
        .label_style(("sans-serif", 14))
        .draw()?;
    for (index, bar) in (0..count).zip(bars) {
        let colour = if bar.column.starts_with("pool") { OURS } else { PEERS };
        let (bottom, top) = (SegmentValue::Exact(index), SegmentValue::Exact(index + 1));
        let mut body = Rectangle::new([(0.5, bottom), (bar.median, top)], colour.filled());
        body.set_margin(4, 4, 0, 0);
        chart.draw_series([body])?;
        let middle = SegmentValue::CenterOf(index);
        let spread = bar.quartiles.map(|time| (time, middle.clone()));
        chart.draw_series([PathElement::new(spread, BLACK)])?;
        let place = (bar.quartiles[1] * 1.05, middle);
        let text = format!("{:.2}", bar.median);
        chart.draw_series([Text::new(text, place, ("sans-serif", 13))])?;
    }
    area.present()?;
    drop(chart);
    drop(area);
    Ok(picture)
}
