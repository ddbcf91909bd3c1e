//! What both problems ask of a buffer's name, size, alignment and fixed offset.

use std::collections::HashMap;

use crate::error::PlanError;

/// Indices of 32 bits, less one that stands for none.
pub(crate) const MOST_INDICES: usize = u32::MAX as usize - 1;

/// Bits of a matrix: 4 GiB.
const MOST_BITS: u64 = 1 << 35;

/// What a buffer asks for.
pub(crate) struct Request<'a> {
    pub(crate) id: &'a str,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) offset: Option<u64>,
}

/// The alignment of a buffer that names none.
#[cfg(feature = "serde")]
pub(crate) fn unaligned() -> u64 {
    1
}

/// Refuses more than `limit`.
pub(crate) fn at_most(what: &'static str, count: usize, limit: usize) -> Result<(), PlanError> {
    if count > limit { Err(PlanError::TooMany { what, count, limit }) } else { Ok(()) }
}

/// Refuses graphs whose matrices, of operations and buffers and of buffers and buffers, would not
/// fit memory.
pub(crate) fn check_graph(
    operations: usize,
    edges: usize,
    buffers: usize,
) -> Result<(), PlanError> {
    at_most("edges", edges, MOST_INDICES)?;
    // A row has whole words, so that operations without buffers count too.
    let columns = buffers.next_multiple_of(64) as u64;
    let rows = usize::try_from(MOST_BITS / columns).unwrap_or(usize::MAX);
    at_most("operations", operations, rows)?;
    at_most("buffers", buffers, rows)
}

/// Refuses what the solvers could not count with.
///
/// No plan that a solver makes is higher than the fixed buffers and all others, each with its
/// padding, on top of each other. That sum fits, so no later arithmetic on offsets overflows.
pub(crate) fn check<'a>(
    requests: impl ExactSizeIterator<Item = Request<'a>>,
) -> Result<(), PlanError> {
    let count = requests.len();
    if count == 0 {
        return Err(PlanError::Empty);
    }
    at_most("buffers", count, MOST_INDICES)?;
    let mut first_of = HashMap::with_capacity(count);
    let (mut stacked, mut fixed_top) = (0_u64, 0_u64);
    for (index, request) in requests.enumerate() {
        if let Some(first) = first_of.insert(request.id, index) {
            return Err(PlanError::DuplicateId { id: request.id.to_owned(), first, second: index });
        }
        if !request.alignment.is_power_of_two() {
            let (id, alignment) = (request.id.to_owned(), request.alignment);
            return Err(PlanError::BadAlignment { id, alignment });
        }
        let start = request.offset.unwrap_or(0);
        if start % request.alignment != 0 {
            let (id, alignment) = (request.id.to_owned(), request.alignment);
            return Err(PlanError::MisalignedOffset { id, offset: start, alignment });
        }
        let padded = request.size.checked_add(request.alignment - 1);
        let top = padded.and_then(|padded| Some((padded, start.checked_add(padded)?)));
        let sums = top.and_then(|(padded, top)| {
            let fixed_end = if request.offset.is_some() { top } else { 0 };
            let (sum, highest) = (stacked.checked_add(padded)?, fixed_top.max(fixed_end));
            (sum.checked_add(highest)? <= i64::MAX as u64).then_some((sum, highest))
        });
        let Some((sum, highest)) = sums else {
            let (id, size) = (request.id.to_owned(), request.size);
            return Err(PlanError::SizeOverflow { id, size, sum: stacked });
        };
        (stacked, fixed_top) = (sum, highest);
    }
    Ok(())
}
