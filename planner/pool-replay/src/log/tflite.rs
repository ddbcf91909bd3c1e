//! Reads the plan that `TFLite` Micro's planners print: `0 (id=0): size=36, offset=10, first_used=1
//! last_used=3`.
//!
//! A buffer is live from its first use to its last use, inclusive. A log may contain several plans,
//! because a planner prints a plan each time that a buffer is added. Only the last plan in a log
//! counts.

use std::io::BufRead;

use pool_plan::{Buffer, IntervalProblem, PlanError};

use super::error::LogError;
use super::lines::Lines;
use super::others::Others;

/// Returns `true` if a line describes a buffer of a plan.
pub(super) fn is_buffer(line: &str) -> bool {
    ["(id=", "size=", "offset=", "first_used=", "last_used="].iter().all(|key| line.contains(key))
}

/// Reads the last plan in a text. All other lines, such as the chart that is printed below the
/// plan, describe no buffer.
pub(super) fn read(
    source: &mut impl BufRead,
    others: &mut Others,
) -> Result<IntervalProblem, LogError> {
    let mut lines = Lines::new(source);
    let mut buffers: Vec<Buffer> = Vec::new();
    while let Some((number, line)) = lines.next()? {
        if !is_buffer(line) {
            others.pass();
            continue;
        }
        let buffer = buffer(line).map_err(|message| LogError::line(number, message))?;
        if buffers.iter().take(1).any(|first| first.id == buffer.id) {
            buffers.clear();
        }
        if buffers.len() == IntervalProblem::MOST_SPANS {
            let (count, limit) = (buffers.len() + 1, IntervalProblem::MOST_SPANS);
            return Err(PlanError::TooMany { what: "buffers and gaps", count, limit }.into());
        }
        buffers.push(buffer);
    }
    Ok(IntervalProblem::new(buffers)?)
}

fn buffer(line: &str) -> Result<Buffer, String> {
    let (id, lower, upper) = (number(line, "(id=")?, line, number(line, "last_used=")?);
    let lower = number(lower, "first_used=")?;
    let upper = upper.checked_add(1).ok_or("last_used is too large for a time")?;
    let natural = |key: &str| {
        let number = number(line, key)?;
        u64::try_from(number).map_err(|_| format!("{key}{number} is negative"))
    };
    let buffer = Buffer::new(id.to_string(), lower, upper, natural("size=")?);
    Ok(Buffer { offset: Some(natural("offset=")?), ..buffer })
}

/// Returns the number after a key.
fn number(line: &str, key: &str) -> Result<i64, String> {
    let text = line.split_once(key).map_or("", |(_, rest)| rest);
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '-';
    let digits = text.split(|letter| !is_part(letter)).next().unwrap_or_default();
    digits.parse().map_err(|_| format!("{key}{digits} is not a 64-bit number"))
}
