//! The report on one forward: a line of text, written here and by `encoder/peers/serve.py`, and
//! read by `cargo xtask encode --peers`, which compiles this file.

use std::fmt;
use std::str::FromStr;

/// The measurements of one forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forward {
    /// Nanoseconds of processor time.
    pub processor: u64,
    /// Page faults; `None` if the system does not count them.
    pub faults: Option<u64>,
    /// Blocks requested from the heap; `None` if they are not counted.
    pub allocations: Option<u64>,
}

/// The prefix of every such line.
const FIRST: &str = "forward";
/// The text for no number.
const NOTHING: &str = "-";

impl fmt::Display for Forward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{FIRST}\t{}", self.processor)?;
        for count in [self.faults, self.allocations] {
            match count {
                Some(count) => write!(formatter, "\t{count}")?,
                None => write!(formatter, "\t{NOTHING}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [FIRST, processor, faults, allocations] = fields[..] else {
            return Err(format!("not a line about a forward pass: {line:?}"));
        };
        let number = |text: &str| text.parse().map_err(|error| format!("{text:?}: {error}"));
        let count = |text| if text == NOTHING { Ok(None) } else { number(text).map(Some) };
        let (faults, allocations) = (count(faults)?, count(allocations)?);
        Ok(Self { processor: number(processor)?, faults, allocations })
    }
}

#[cfg(test)]
mod tests {
    use super::Forward;

    #[test]
    fn a_line_gives_back_its_forward() {
        let whole = Forward { processor: u64::MAX, faults: Some(0), allocations: Some(3) };
        for forward in [whole, Forward { faults: None, ..whole }, Forward::default()] {
            assert_eq!(forward.to_string().parse(), Ok(forward));
        }
        assert_eq!(
            "forward\t5\t2\t-".parse(),
            Ok(Forward { processor: 5, faults: Some(2), allocations: None })
        );
    }

    #[test]
    fn another_line_is_refused_with_its_text() {
        for line in
            ["", "UserWarning: slow", "forward\t1\tmany\t2", "forward\t1\t2", "forward\t-\t2\t3"]
        {
            let refusal = line.parse::<Forward>().unwrap_err();
            assert!(
                refusal.contains(&format!("{line:?}"))
                    || refusal.contains("many")
                    || refusal.contains("\"-\""),
                "{refusal}"
            );
        }
    }
}
