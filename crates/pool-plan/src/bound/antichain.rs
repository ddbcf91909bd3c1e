//! The heaviest antichain of a partial order, from a maximum flow.
//!
//! The network has two vertices for each element: source → left(a) and right(b) → sink with the
//! elements' weights, left(a) → right(b) without limit wherever a comes before b. Its minimum cut
//! is a lightest set of elements that covers the relation; what remains is the heaviest antichain.
//! Only the covering pairs of the order (those with nothing between) get an edge of their own;
//! edges right(b) → left(b) without limit stand for all others.

use super::flow::Network;
use crate::bits::{BitMatrix, ones};

/// All weights together are no more than this, so that no flow fills such an edge.
const UNLIMITED: u64 = i64::MAX as u64;

/// The elements of a heaviest antichain; those of weight 0 are left out.
pub(super) fn heaviest(precedes: &BitMatrix, weights: &[u64]) -> Vec<usize> {
    let count = weights.len();
    let (source, sink) = (2 * count, 2 * count + 1);
    let mut network = Network::new(2 * count + 2);
    for (element, &weight) in weights.iter().enumerate() {
        network.connect(source, element, weight);
        network.connect(count + element, sink, weight);
        network.connect(count + element, element, UNLIMITED);
    }
    let mut between = Vec::new();
    for element in 0..count {
        between.clear();
        between.extend_from_slice(precedes.row(element));
        for later in precedes.columns(element) {
            // What comes after a successor is reached through it. A successor that was itself
            // removed has another one before it that reaches the same.
            let direct = between[later / 64] >> (later % 64) & 1 == 1;
            if direct {
                let reached = precedes.row(later);
                between.iter_mut().zip(reached).for_each(|(word, other)| *word &= !other);
            }
        }
        for later in ones(&between) {
            network.connect(element, count + later, UNLIMITED);
        }
    }
    network.maximise(source, sink);
    let reachable = network.reachable(source);
    let kept = |&one: &usize| weights[one] > 0 && reachable[one] && !reachable[count + one];
    (0..count).filter(kept).collect()
}
