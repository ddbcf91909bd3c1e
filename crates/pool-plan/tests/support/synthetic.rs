//! Synthetic traces with the character of large networks. Weights and gradients live long, and
//! activations live from a layer of the forward pass to the same layer of the backward pass. There
//! are very many short-lived temporaries of few distinct sizes.

use pool_plan::{Buffer, IntervalProblem, PlanError};

/// Returns a trace of `count` buffers.
pub(crate) fn network(count: usize, seed: u64) -> Result<IntervalProblem, PlanError> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = move |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let layers = (count as u64 / 100).max(1);
    let steps_per_layer = 60;
    let end = 2 * layers * steps_per_layer;
    let shapes: Vec<u64> = (0..24).map(|_| (1 + below(64)) << (6 + below(14))).collect();
    let mut buffers = Vec::new();
    for number in 0..count {
        let size = shapes[below(24) as usize];
        let layer = below(layers);
        let forward = layer * steps_per_layer + below(steps_per_layer);
        let backward = end - 1 - layer * steps_per_layer - below(steps_per_layer);
        let (lower, upper) = match below(100) {
            0..3 => (0, end),
            3..20 => (forward, backward.max(forward + 1)),
            20..60 => (forward, forward + 1 + below(12)),
            _ => (backward, backward + 1 + below(12)),
        };
        let ratio = if (lower, upper) == (0, end) { 4 } else { 1 };
        buffers.push(Buffer::new(number.to_string(), lower as i64, upper as i64, size * ratio));
    }
    IntervalProblem::new(buffers)
}
