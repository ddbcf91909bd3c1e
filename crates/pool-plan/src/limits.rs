//! The planner's limits, and the rules for a buffer's name, size, alignment, and fixed offset in
//! all kinds of problems.

use std::collections::HashMap;

use crate::error::PlanError;

/// The maximum total number of buffers and gaps in an interval problem. Planning needs a few
/// hundred bytes of memory for each buffer and each gap.
pub(crate) const MOST_SPANS: usize = 1 << 20;

/// The maximum number of buffers in a graph. For this many buffers, a matrix with one bit per pair
/// of buffers occupies 1 GiB.
pub(crate) const MOST_GRAPH_BUFFERS: usize = 92_672;

/// The maximum number of edges in a graph. The same limit applies to the total number of free
/// markers in the graph.
pub(crate) const MOST_EDGES: usize = 1 << 22;

/// Returns the name that messages use for a buffer. The name is the buffer's own name, or its index
/// if it has none.
pub(crate) fn label(id: &str, index: usize) -> String {
    if id.is_empty() { format!("#{index}") } else { id.to_owned() }
}

/// A buffer's name, size, alignment, and fixed offset.
pub(crate) struct Request<'a> {
    pub(crate) id: &'a str,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) offset: Option<u64>,
}

/// Returns a buffer's default alignment.
#[cfg(feature = "serde")]
pub(crate) fn unaligned() -> u64 {
    1
}

/// Returns an error if there are more than `limit` entries.
pub(crate) fn at_most(what: &'static str, count: usize, limit: usize) -> Result<(), PlanError> {
    if count > limit { Err(PlanError::TooMany { what, count, limit }) } else { Ok(()) }
}

/// Returns an error if a graph would need too much memory. There is no limit on the number of
/// operations, because an operation that no edge or buffer references needs no memory.
pub(crate) fn check_graph(
    edges: usize,
    buffers: usize,
    markers: impl Iterator<Item = usize>,
) -> Result<(), PlanError> {
    at_most("edges", edges, MOST_EDGES)?;
    at_most("buffers", buffers, MOST_GRAPH_BUFFERS)?;
    at_most("free markers", markers.fold(0, usize::saturating_add), MOST_EDGES)
}

/// Returns an error if the buffers and gaps of a problem would need too much memory.
pub(crate) fn check_intervals(
    buffers: usize,
    gaps: impl Iterator<Item = usize>,
) -> Result<(), PlanError> {
    at_most("buffers and gaps", gaps.fold(buffers, usize::saturating_add), MOST_SPANS)
}

/// Returns an error if the buffers' sizes and offsets would overflow the solvers' arithmetic.
///
/// In the worst plan that a solver can compute, all buffers are stacked on top of each other, above
/// the highest fixed buffer. Each buffer may also need padding. If the sum of all sizes and
/// paddings fits in the integer type, later arithmetic on offsets never overflows.
pub(crate) fn check<'a>(
    requests: impl ExactSizeIterator<Item = Request<'a>>,
) -> Result<(), PlanError> {
    if requests.len() == 0 {
        return Err(PlanError::Empty);
    }
    let mut first_of = HashMap::new();
    let (mut stacked, mut fixed_top) = (0_u64, 0_u64);
    for (index, request) in requests.enumerate() {
        if !request.id.is_empty() {
            if let Some(first) = first_of.insert(request.id, index) {
                let id = request.id.to_owned();
                return Err(PlanError::DuplicateId { id, first, second: index });
            }
        }
        if !request.alignment.is_power_of_two() {
            let (id, alignment) = (label(request.id, index), request.alignment);
            return Err(PlanError::BadAlignment { id, alignment });
        }
        let start = request.offset.unwrap_or(0);
        if start % request.alignment != 0 {
            let (id, alignment) = (label(request.id, index), request.alignment);
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
            let (id, size) = (label(request.id, index), request.size);
            return Err(PlanError::SizeOverflow { id, size, sum: stacked });
        };
        (stacked, fixed_top) = (sum, highest);
    }
    Ok(())
}
