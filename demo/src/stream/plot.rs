//! The picture of a stream: each way's time over the frames, and below it the memory of its
//! process.

use std::fs;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::Run;
use super::record::Record;
use super::scenario::Scenario;
use crate::TaskError;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Curve = Vec<(f64, f64)>;

const SIZE: (u32, u32) = (1_000, 760);
/// The share of the height for the upper half.
const UPPER: u32 = 420;
/// The maximum number of points of a curve.
const POINTS: usize = 250;
/// The width of a chart, relative to that of its curves, beside which the legend stands.
const LEGEND: f64 = 1.2;
const BORDER: RGBColor = RGBColor(110, 110, 110);

/// Writes it as SVG.
pub(super) fn write(path: &Path, scenario: &Scenario, runs: &[Run]) -> Result<(), TaskError> {
    Ok(fs::write(path, draw(scenario, runs)?)?)
}

fn draw(scenario: &Scenario, runs: &[Run]) -> Result<String, TaskError> {
    let mut picture = String::new();
    let area = SVGBackend::with_string(&mut picture, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (upper, lower) = area.split_vertically(UPPER);
    let frames = scenario.frames * scenario.workers;
    let together = frames.div_ceil(POINTS);
    let of_each = if together > 1 { format!(", the slowest of {together}") } else { String::new() };

    let times = Half {
        caption: scenario.to_string(),
        label: format!("processor time per frame in ms{of_each}"),
        most: usual_most(runs),
        curves: curves(runs, together, |record| Some(record.processor as f64 * 1e-6)),
    };
    times.draw(&upper, frames, runs)?;
    let curves = curves(runs, together, |record| Some(record.held? as f64 / f64::from(1 << 20)));
    let most = curves.iter().flatten().map(|point| point.1).fold(1.0, f64::max);
    let label = "MiB held".to_owned();
    let held = Half { caption: String::new(), label, most: 1.1 * most, curves };
    held.draw(&lower, frames, runs)?;
    area.present()?;
    drop((upper, lower, area));
    Ok(picture)
}

/// Returns for each run the maximum of each `together` frames.
fn curves(runs: &[Run], together: usize, value: fn(&Record) -> Option<f64>) -> Vec<Curve> {
    let curve = |run: &Run| {
        let groups = run.records.chunks(together).enumerate();
        let point = |(index, group): (usize, &[Record])| {
            let most = group.iter().filter_map(value).reduce(f64::max)?;
            Some(((index * together) as f64, most))
        };
        groups.filter_map(point).collect()
    };
    runs.iter().map(curve).collect()
}

/// Returns the time in ms that all but some in a thousand frames stay below in every way: a single
/// slow frame would flatten all others.
fn usual_most(runs: &[Run]) -> f64 {
    let usual = runs.iter().map(|run| {
        let mut times: Vec<u64> = run.records.iter().map(|record| record.processor).collect();
        times.sort_unstable();
        times.get(times.len() * 995 / 1_000).copied().unwrap_or(0)
    });
    1.15e-6 * usual.max().unwrap_or(1).max(1) as f64
}

/// One of the two charts.
struct Half {
    /// The caption above it; the chart with the caption also has the legend.
    caption: String,
    label: String,
    /// Larger values are drawn at the upper edge.
    most: f64,
    curves: Vec<Curve>,
}

impl Half {
    fn draw(&self, area: &Area<'_>, frames: usize, runs: &[Run]) -> Result<(), TaskError> {
        let mut builder = ChartBuilder::on(area);
        builder.margin(14).x_label_area_size(40).y_label_area_size(64);
        if !self.caption.is_empty() {
            builder.caption(&self.caption, ("sans-serif", 18));
        }
        let mut chart = builder.build_cartesian_2d(0.0..LEGEND * frames as f64, 0.0..self.most)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc("frame")
            .y_desc(&self.label)
            .x_label_formatter(&|frame| format!("{frame:.0}"))
            .label_style(("sans-serif", 13))
            .draw()?;
        for (curve, run) in self.curves.iter().zip(runs) {
            let points = curve.iter().map(|(frame, value)| (*frame, value.min(self.most)));
            let style = run.column.colour.stroke_width(2);
            chart
                .draw_series(LineSeries::new(points, style))?
                .label(run.column.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
        }
        if self.caption.is_empty() {
            return Ok(());
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BORDER.mix(0.5))
            .label_font(("sans-serif", 13))
            .draw()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::Column;
    use super::{Record, Run, Scenario, curves, draw};

    fn run(column: Column) -> Run {
        let record = |index: u64| Record {
            processor: 1_000_000 * (1 + index % 7),
            held: Some(1 << 20),
            ..Record::default()
        };
        Run { column, records: (0..60).map(record).collect() }
    }

    #[test]
    fn a_curve_has_the_slowest_of_some_frames() {
        let curves = curves(&[run(Column::POOL)], 20, |record| Some(record.processor as f64));
        assert_eq!(curves, [[(0.0, 7e6), (20.0, 7e6), (40.0, 7e6)]]);
    }

    #[test]
    fn the_picture_names_its_ways() {
        let scenario = Scenario { frames: 60, ..Scenario::LONG };
        let picture = draw(&scenario, &[run(Column::POOL), run(Column::VEC)]).unwrap();
        for expected in ["<svg", "pool", "Vec", "MiB held", "64 × 48"] {
            assert!(picture.contains(expected), "{expected}");
        }
    }
}
