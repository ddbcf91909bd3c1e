//! The report on one frame: a line of text that this program writes and `cargo xtask demo` reads.
//! Both programs compile this file.

use std::fmt;
use std::str::FromStr;

/// The measurements of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Elapsed time in nanoseconds.
    pub wall: u64,
    /// The thread's CPU time in nanoseconds.
    pub processor: u64,
    /// The thread's page faults; `None` if the system does not count them.
    pub faults: Option<u64>,
    /// Blocks that the thread requested from the heap.
    pub allocations: u64,
    /// A hash of the temporaries' addresses and their order; 0 if there were no temporaries.
    pub addresses: u64,
    /// Bytes that the process holds in addition to those before the first frame; `None` if the
    /// system does not report them.
    pub held: Option<i64>,
    /// Bytes of the thread's pool, in blocks and tables; `None` if there is no pool.
    pub reserved: Option<u64>,
    /// The peak of the temporaries' live bytes so far; `None` if they are not counted.
    pub live: Option<u64>,
    /// A checksum of the picture.
    pub checksum: u64,
}

/// The prefix of each such line.
const FIRST: &str = "frame";
/// The text that stands for a missing number.
const NOTHING: &str = "-";

impl fmt::Display for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wall, processor, allocations, addresses, checksum, .. } = self;
        let [faults, reserved, live] = [self.faults, self.reserved, self.live].map(OrNothing);
        let held = OrNothing(self.held);
        write!(formatter, "{FIRST}\t{wall}\t{processor}\t{faults}\t{allocations}\t{addresses}")?;
        write!(formatter, "\t{held}\t{reserved}\t{live}\t{checksum}")
    }
}

impl FromStr for Record {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [
            FIRST,
            wall,
            processor,
            faults,
            allocations,
            addresses,
            held,
            reserved,
            live,
            checksum,
        ] = fields[..]
        else {
            return Err(format!("not a line about a frame: {line:?}"));
        };
        Ok(Self {
            wall: number(wall)?,
            processor: number(processor)?,
            faults: number_or_nothing(faults)?,
            allocations: number(allocations)?,
            addresses: number(addresses)?,
            held: number_or_nothing(held)?,
            reserved: number_or_nothing(reserved)?,
            live: number_or_nothing(live)?,
            checksum: number(checksum)?,
        })
    }
}

/// A number, or the text for a missing one.
struct OrNothing<Number>(Option<Number>);

impl<Number: fmt::Display> fmt::Display for OrNothing<Number> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(number) => number.fmt(formatter),
            None => formatter.write_str(NOTHING),
        }
    }
}

fn number<Number: FromStr<Err: fmt::Display>>(text: &str) -> Result<Number, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

fn number_or_nothing<Number: FromStr<Err: fmt::Display>>(
    text: &str,
) -> Result<Option<Number>, String> {
    if text == NOTHING { Ok(None) } else { number(text).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::Record;

    #[test]
    fn a_line_gives_back_its_record() {
        let whole = Record {
            wall: 1,
            processor: 2,
            faults: Some(3),
            allocations: 4,
            addresses: u64::MAX,
            held: Some(-5),
            reserved: Some(6),
            live: Some(7),
            checksum: 8,
        };
        let without = Record { faults: None, held: None, reserved: None, live: None, ..whole };
        for record in [whole, without] {
            assert_eq!(record.to_string().parse(), Ok(record));
        }
    }

    #[test]
    fn another_line_is_refused_with_its_text() {
        let refusal = "warning: slow".parse::<Record>().unwrap_err();
        assert!(refusal.contains("warning: slow"), "{refusal}");
        let refusal = "frame\t1\t2\tmany\t4\t5\t6\t7\t8\t9".parse::<Record>().unwrap_err();
        assert!(refusal.contains("many"), "{refusal}");
    }
}
