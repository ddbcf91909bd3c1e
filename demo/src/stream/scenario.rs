//! The scenarios of the stream: sizes, lengths, and other load.

use std::fmt;

/// The amount of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Length {
    /// A test that it works.
    Quick,
    /// Half a minute.
    Short,
    /// All columns and sizes.
    Full,
}

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The number of frames that each camera processes.
    pub(super) frames: usize,
    /// Cameras, each with a thread.
    pub(super) workers: usize,
    /// `true` if another thread keeps the allocator busy.
    pub(super) churn: bool,
    /// `true` if the pool counts its live bytes.
    pub(super) live: bool,
}

const fn still(width: usize, height: usize, frames: usize) -> Scenario {
    Scenario { width, height, frames, workers: 1, churn: false, live: false }
}

/// Returns those of a length, in the order of their tables.
pub(super) fn of(length: Length) -> Vec<Scenario> {
    let churned = |scenario| Scenario { churn: true, ..scenario };
    let of_two = |scenario| Scenario { workers: 2, ..scenario };
    match length {
        Length::Quick => vec![still(160, 120, 120), of_two(still(160, 120, 40))],
        Length::Short => {
            vec![still(640, 480, 300), churned(still(640, 480, 200)), still(1_920, 1_080, 60)]
        }
        Length::Full => vec![
            still(640, 480, 1_000),
            churned(still(640, 480, 500)),
            of_two(still(640, 480, 300)),
            still(1_920, 1_080, 120),
            churned(still(1_920, 1_080, 80)),
            still(3_840, 2_160, 32),
        ],
    }
}

/// Returns all of a length, or the one with this name, including the long run.
pub(super) fn named(length: Length, only: Option<&str>) -> Result<Vec<Scenario>, String> {
    let mut scenarios = of(length);
    let Some(only) = only else { return Ok(scenarios) };
    if length == Length::Full {
        scenarios.push(Scenario::LONG);
    }
    match scenarios.iter().find(|one| one.name() == only) {
        Some(found) => Ok(vec![*found]),
        None => {
            let names: Vec<String> = scenarios.iter().map(Scenario::name).collect();
            Err(format!("there is no stream {only}; the streams are {}", names.join(", ")))
        }
    }
}

impl Scenario {
    /// Long enough to show an event that occurs once in a hundred thousand frames.
    pub(super) const LONG: Self = Self { live: true, ..still(64, 48, 100_000) };

    /// Returns the number of different frames, after which they repeat. Those of the largest size
    /// are some ten MB each.
    pub(super) fn film_frames(&self) -> usize {
        if self.width > 2_000 { 8 } else { 24 }
    }

    /// Returns the number of records before steady state: those of each frame's first use.
    pub(super) fn warm_up(&self) -> usize {
        (self.film_frames() * self.workers).min(self.frames / 2)
    }

    /// Returns the name for files.
    pub(super) fn name(&self) -> String {
        let Self { width, height, workers, .. } = self;
        let churn = if self.churn { "-churn" } else { "" };
        let workers = if *workers > 1 { format!("-{workers}-workers") } else { String::new() };
        format!("{width}x{height}{churn}{workers}")
    }
}

/// Prints the heading of a table.
impl fmt::Display for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, height, frames, workers, churn, .. } = self;
        write!(formatter, "A stream of {frames} frames, {width} × {height}")?;
        if *workers > 1 {
            write!(formatter, ", from each of {workers} cameras with one thread each")?;
        }
        if *churn {
            formatter.write_str(", while another thread keeps the allocator busy")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Length, Scenario, named, of};

    #[test]
    fn one_is_found_by_its_name_and_a_wrong_name_is_answered_with_all() {
        assert_eq!(named(Length::Full, Some("64x48")), Ok(vec![Scenario::LONG]));
        assert_eq!(named(Length::Short, None), Ok(of(Length::Short)));
        let error = named(Length::Short, Some("64x48")).unwrap_err();
        assert!(error.contains("640x480-churn") && error.contains("1920x1080"), "{error}");
    }

    #[test]
    fn every_scenario_has_a_file_of_its_own_and_frames_behind_its_warm_up() {
        for length in [Length::Quick, Length::Short, Length::Full] {
            let mut names: Vec<String> = of(length).iter().map(Scenario::name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count);
            assert!(of(length).iter().all(|one| one.frames * one.workers > one.warm_up()));
        }
        assert_eq!(Scenario::LONG.name(), "64x48");
    }
}
