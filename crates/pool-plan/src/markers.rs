//! Finds buffers with a free marker that precedes the alloc marker. Every use of a buffer comes
//! after its alloc marker and before a free marker. A buffer with reversed markers could therefore
//! never be used. The planner rejects a problem in which a free marker precedes the same buffer's
//! alloc marker, because one of these markers must be wrong.

use crate::error::PlanError;
use crate::graph::{Edge, GraphBuffer};
use crate::limits;
use crate::operations::Operations;

/// A free marker that may precede its buffer's alloc marker. A marker's position is its index in
/// the order of operations.
#[derive(Clone, Copy)]
struct Doubt {
    free: usize,
    alloc: usize,
    buffer: usize,
    /// The free marker's index in the buffer's list of free markers.
    marker: usize,
}

/// Returns an error if a path of edges of any kind leads from one of a buffer's free markers to its
/// alloc marker.
///
/// # Errors
/// Fails if a free marker precedes its buffer's alloc marker. The error identifies the first buffer
/// whose free marker precedes its alloc marker, along with this free marker.
pub(crate) fn check(
    operations: &Operations,
    order: &[u32],
    edges: &[Edge],
    buffers: &[GraphBuffer],
) -> Result<(), PlanError> {
    let mut places = vec![0; order.len()];
    for (place, &operation) in order.iter().enumerate() {
        places[operation as usize] = place;
    }
    let mut doubts = doubts(operations, &places, buffers);
    if doubts.is_empty() {
        return Ok(());
    }
    let after = operations.after(edges.iter());
    doubts.sort_unstable_by_key(|doubt| (doubt.free, doubt.alloc));
    let mut worst: Option<(usize, usize)> = None;
    // One word for each position in the order of operations. Each word has one bit for each of 64
    // free markers. A bit is set if its free marker precedes the operation at the word's position.
    let mut before: Vec<u64> = Vec::new();
    for some in doubts.chunks(64) {
        let first = some[0].free;
        let last = some.iter().map(|doubt| doubt.alloc).max().unwrap_or(first);
        before.clear();
        before.resize(last + 1 - first, 0);
        for (bit, doubt) in some.iter().enumerate() {
            before[doubt.free - first] |= 1 << bit;
        }
        for place in first..=last {
            let bits = before[place - first];
            for &later in after.row(order[place] as usize).iter().filter(|_| bits != 0) {
                let place = places[later as usize];
                if place <= last {
                    before[place - first] |= bits;
                }
            }
        }
        let wrong = some
            .iter()
            .enumerate()
            .filter(|(bit, doubt)| before[doubt.alloc - first] >> bit & 1 == 1);
        let wrong = wrong.map(|(_, doubt)| (doubt.buffer, doubt.marker)).min();
        worst = [worst, wrong].into_iter().flatten().min();
    }
    let Some((buffer, marker)) = worst else { return Ok(()) };
    let GraphBuffer { id, allocated_by, freed_by, .. } = &buffers[buffer];
    let id = limits::label(id, buffer);
    let (allocated_by, freed_by) = (*allocated_by, freed_by[marker]);
    Err(PlanError::FreedBeforeAllocated { id, allocated_by, freed_by })
}

/// Returns the free markers that come before their buffers' alloc markers in the order of
/// operations. If a free marker comes after its buffer's alloc marker in the order of operations,
/// it cannot precede that marker in the graph.
fn doubts(operations: &Operations, places: &[usize], buffers: &[GraphBuffer]) -> Vec<Doubt> {
    let place = |operation| places[operations.index(operation)];
    let of_buffer = |(buffer, one): (usize, &GraphBuffer)| {
        let alloc = place(one.allocated_by);
        let markers = one.freed_by.iter().enumerate();
        let markers =
            markers.map(move |(marker, &free)| Doubt { free: place(free), alloc, buffer, marker });
        markers.filter(|doubt| doubt.free < doubt.alloc).collect::<Vec<_>>()
    };
    buffers.iter().enumerate().flat_map(of_buffer).collect()
}
