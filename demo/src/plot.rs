//! The picture of the Nile: the measurements, and the level by the filter and the smoother.

use std::fs;
use std::path::Path;

use plotters::coord::types::{RangedCoordf64, RangedCoordi32};
use plotters::prelude::*;

use super::kalman::nile::Year;
use super::kalman::pooled::Smoothed;
use crate::TaskError;

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordi32, RangedCoordf64>>;
type Curve = Vec<(i32, f64)>;

const SIZE: (u32, u32) = (1_000, 560);
/// The number of standard deviations to both sides that hold 90 % of a normal distribution.
const NINETY_PERCENT: f64 = 1.645;
const MEASURED: RGBColor = RGBColor(110, 110, 110);
const FILTERED: RGBColor = RGBColor(230, 120, 0);
const SMOOTHED: RGBColor = RGBColor(0, 90, 180);

/// Writes the picture as SVG.
///
/// # Errors
///
/// Fails if it cannot be drawn or written.
pub(crate) fn write(path: &Path, years: &[Year], smoothed: &Smoothed<'_>) -> Result<(), TaskError> {
    let picture = draw(&Curves::of(years, smoothed))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, picture)?)
}

/// The curves, as points by year.
struct Curves {
    measured: Curve,
    filtered: Curve,
    smoothed: Curve,
    /// Around the smoothed level: its upper bound forwards, then its lower bound backwards.
    band: Curve,
}

impl Curves {
    fn of(years: &[Year], smoothed: &Smoothed<'_>) -> Self {
        let numbers = || years.iter().map(|year| year.year);
        let filtered = smoothed.filtered.years().map(|moments| moments.state.values[0]);
        let level: Curve = numbers()
            .zip(smoothed.smoothed.years().map(|moments| moments.state.values[0]))
            .collect();
        let deviations = smoothed.smoothed.years().map(|moments| moments.variance.values[0].sqrt());
        let deviations: Vec<f64> = deviations.collect();
        let bounds = || level.iter().zip(&deviations);
        let upper = bounds().map(|((year, level), by)| (*year, level + NINETY_PERCENT * by));
        let lower = bounds().map(|((year, level), by)| (*year, level - NINETY_PERCENT * by));
        Self {
            measured: years.iter().map(|year| (year.year, year.flow)).collect(),
            filtered: numbers().zip(filtered).collect(),
            band: upper.chain(lower.rev()).collect(),
            smoothed: level,
        }
    }
}

fn draw(curves: &Curves) -> Result<String, TaskError> {
    let (Some(first), Some(last)) = (curves.measured.first(), curves.measured.last()) else {
        return Err("there are no years to plot".into());
    };
    let mut picture = String::new();
    let area = SVGBackend::with_string(&mut picture, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("The Nile at Aswan in a local level model", ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(first.0 - 1..last.0 + 1, 400.0..1_400.0)?;
    draw_axes(&mut chart)?;
    draw_measurements(&mut chart, curves)?;
    draw_levels(&mut chart, curves)?;
    draw_legend(&mut chart)?;
    area.present()?;
    drop(chart);
    drop(area);
    Ok(picture)
}

fn draw_axes(chart: &mut Chart<'_>) -> Result<(), TaskError> {
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("year")
        .y_desc("annual flow in 10⁸ m³")
        .y_label_formatter(&|flow| format!("{flow:.0}"))
        .label_style(("sans-serif", 14))
        .draw()?;
    Ok(())
}

fn draw_measurements(chart: &mut Chart<'_>, curves: &Curves) -> Result<(), TaskError> {
    chart.draw_series(LineSeries::new(curves.measured.clone(), MEASURED.mix(0.4)))?;
    let points = curves.measured.iter().map(|point| Circle::new(*point, 3, MEASURED.filled()));
    chart
        .draw_series(points)?
        .label("measured")
        .legend(|(x, y)| Circle::new((x + 11, y), 3, MEASURED.filled()));
    Ok(())
}

fn draw_levels(chart: &mut Chart<'_>, curves: &Curves) -> Result<(), TaskError> {
    let band = SMOOTHED.mix(0.15);
    chart.draw_series([Polygon::new(curves.band.clone(), band)])?;
    for (curve, colour, label) in [
        (&curves.filtered, FILTERED, "level, filtered"),
        (&curves.smoothed, SMOOTHED, "level, smoothed"),
    ] {
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(curve.clone(), style))?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
    }
    // An empty series: the band's line in the legend comes last.
    chart
        .draw_series(std::iter::empty::<Circle<(i32, f64), u32>>())?
        .label("its 90 % interval")
        .legend(move |(x, y)| Rectangle::new([(x, y - 6), (x + 22, y + 6)], band.filled()));
    Ok(())
}

fn draw_legend(chart: &mut Chart<'_>) -> Result<(), TaskError> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(MEASURED.mix(0.5))
        .label_font(("sans-serif", 14))
        .draw()?;
    Ok(())
}
