//! The conditions that each buffer of a plan must satisfy in every kind of problem.

use crate::violation::Violation;

/// A buffer from any kind of problem, along with its offset in a plan.
pub(super) struct PlacedBuffer {
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) fixed: Option<u64>,
    pub(super) offset: u64,
}

/// Returns each buffer's end. Returns an error unless each buffer is aligned, lies at its fixed
/// offset if it has one, and ends within the address space.
pub(super) fn ends(placed: impl Iterator<Item = PlacedBuffer>) -> Result<Vec<u64>, Violation> {
    let mut ends = Vec::new();
    for (buffer, one) in placed.enumerate() {
        let offset = one.offset;
        if offset % one.alignment != 0 {
            return Err(Violation::Misaligned { buffer, offset, alignment: one.alignment });
        }
        if let Some(fixed) = one.fixed.filter(|&fixed| fixed != offset) {
            return Err(Violation::Moved { buffer, offset, fixed });
        }
        let end = offset.checked_add(one.size).ok_or(Violation::Overflow { buffer, offset })?;
        ends.push(end);
    }
    Ok(ends)
}
