//! The measurement of one version of one case: a line of text, written here and parsed by
//! `cargo xtask adopt`, which compiles this file in.

use std::fmt;
use std::str::FromStr;

/// The measurement of one version of one case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// The work and its size.
    pub(crate) case: String,
    /// The version: `original`, or the name of the patch.
    pub(crate) version: String,
    /// The nanoseconds of processor time for a call, the median of the batches.
    pub(crate) nanoseconds: f64,
    /// The time of the original divided by that of this version, within a round of batches: 10th
    /// percentile, median, 90th.
    pub(crate) speed: [f64; 3],
    /// The heap blocks that one call requests.
    pub(crate) allocations: u64,
    /// The heap bytes that one call requests.
    pub(crate) bytes: u64,
}

/// The start of every such line.
const FIRST: &str = "measured";

impl fmt::Display for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, version, nanoseconds, speed: [low, median, high], allocations, bytes } =
            self;
        write!(
            formatter,
            "{FIRST}\t{case}\t{version}\t{nanoseconds}\t{low}\t{median}\t{high}\t{allocations}\t{bytes}"
        )
    }
}

impl FromStr for Record {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [FIRST, case, version, nanoseconds, low, median, high, allocations, bytes] = fields[..]
        else {
            return Err(format!("not a line of a measuring program: {line:?}"));
        };
        let number = |text: &str| text.parse::<f64>().map_err(|error| format!("{text:?}: {error}"));
        let count = |text: &str| text.parse::<u64>().map_err(|error| format!("{text:?}: {error}"));
        Ok(Self {
            case: case.to_owned(),
            version: version.to_owned(),
            nanoseconds: number(nanoseconds)?,
            speed: [number(low)?, number(median)?, number(high)?],
            allocations: count(allocations)?,
            bytes: count(bytes)?,
        })
    }
}

/// The most memory that a process of its own had in use, which did the work of one version.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Peak {
    /// `original`, or the name of the patch.
    pub(crate) version: String,
    pub(crate) kibibytes: u64,
}

/// The first word of such a line.
const PEAK: &str = "peak";

impl fmt::Display for Peak {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PEAK}\t{}\t{}", self.version, self.kibibytes)
    }
}

impl FromStr for Peak {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [PEAK, version, kibibytes] = fields[..] else {
            return Err(format!("no line about peak memory: {line:?}"));
        };
        let kibibytes = kibibytes.parse().map_err(|error| format!("{kibibytes:?}: {error}"))?;
        Ok(Self { version: version.to_owned(), kibibytes })
    }
}

#[cfg(test)]
mod tests {
    use super::{Peak, Record};

    #[test]
    fn a_line_gives_back_its_peak() {
        let peak = Peak { version: "pool".to_owned(), kibibytes: 253_011 };
        assert_eq!(peak.to_string().parse::<Peak>().unwrap(), peak);
        assert!("peak\tpool\tmuch".parse::<Peak>().unwrap_err().contains("much"));
        assert!("measured".parse::<Peak>().is_err());
    }

    #[test]
    fn a_line_gives_back_its_record() {
        let record = Record {
            case: "degree 3, f32".to_owned(),
            version: "pool".to_owned(),
            nanoseconds: 1234.5,
            speed: [0.9, 1.25, 1.5],
            allocations: 12,
            bytes: 1 << 40,
        };
        assert_eq!(record.to_string().parse::<Record>().unwrap(), record);
    }

    #[test]
    fn another_line_is_refused_with_its_text() {
        let refusal = "warning: slow".parse::<Record>().unwrap_err();
        assert!(refusal.contains("warning: slow"), "{refusal}");
        let refusal = "measured\ta\tb\t1\t1\t1\t1\tmany\t1".parse::<Record>().unwrap_err();
        assert!(refusal.contains("many"), "{refusal}");
    }
}
