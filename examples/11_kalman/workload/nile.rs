//! The Nile series, read from the CSV file in the data folder.

/// One measurement: a year, and the flow at Aswan in 10⁸ m³.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Year {
    pub(crate) year: i32,
    pub(crate) flow: f64,
}

/// Reads the 100 years. The error names a line that is not of the form `year,flow`.
pub(crate) fn series() -> Result<Vec<Year>, String> {
    let text = include_str!("../../data/nile.csv");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.skip(1).map(|line| parse(line).ok_or_else(|| format!("not a year: `{line}`"))).collect()
}

fn parse(line: &str) -> Option<Year> {
    let (year, flow) = line.split_once(',')?;
    Some(Year { year: year.parse().ok()?, flow: flow.parse().ok()? })
}
