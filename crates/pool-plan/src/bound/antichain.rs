//! The heaviest antichain of a partial order, from a maximum flow.
//!
//! Every element sends up to its weight to elements that come after it, and takes up to its weight from
//! those before it (weighted Dilworth). The minimum cut is a lightest set of elements that covers the
//! relation; what remains is the heaviest antichain.

use super::transport::Transport;
use crate::bits::BitMatrix;

/// The elements of a heaviest antichain; those of weight 0 are left out.
pub(super) fn heaviest(precedes: &BitMatrix, weights: &[u64]) -> Vec<usize> {
    let (sends, takes) = Transport::new(precedes, weights).maximise();
    let kept = |&one: &usize| weights[one] > 0 && sends[one] && !takes[one];
    (0..weights.len()).filter(kept).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Transport, heaviest};
    use crate::bits::BitMatrix;

    /// A partial order of elements that come before others of higher number only, and their weights.
    fn orders() -> impl Strategy<Value = (BitMatrix, Vec<u64>)> {
        (2..70_usize, 0..3_usize).prop_flat_map(|(count, density)| {
            let pairs = prop::collection::vec((0..count, 0..count), 0..count << density);
            let weights = prop_oneof![0..20_u64, Just(1_u64), Just(1 << 40)];
            (pairs, prop::collection::vec(weights, count)).prop_map(|(pairs, weights)| {
                let mut precedes = BitMatrix::new(weights.len(), weights.len());
                for (one, other) in pairs.into_iter().filter(|(one, other)| one != other) {
                    precedes.set(one.min(other), one.max(other));
                }
                for element in (0..weights.len()).rev() {
                    for later in precedes.columns(element).collect::<Vec<_>>() {
                        precedes.merge_row(element, later);
                    }
                }
                (precedes, weights)
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

        /// No flow of the network can exceed the weight that the antichain leaves: so where both are equal,
        /// flow and antichain are the best there are.
        #[test]
        fn the_antichain_weighs_what_the_flow_leaves((precedes, weights) in orders()) {
            let kept = heaviest(&precedes, &weights);
            for &one in &kept {
                prop_assert!(precedes.columns(one).all(|later| !kept.contains(&later)));
            }
            let mut transport = Transport::new(&precedes, &weights);
            transport.maximise();
            let Some((sent, taken)) = transport.sums() else {
                return Err(TestCaseError::fail("something goes where the relation does not"));
            };
            prop_assert!(sent.iter().zip(&weights).all(|(sent, weight)| sent <= weight));
            prop_assert!(taken.iter().zip(&weights).all(|(taken, weight)| taken <= weight));
            let total: u64 = weights.iter().sum();
            let weight: u64 = kept.iter().map(|&one| weights[one]).sum();
            prop_assert_eq!(weight, total - sent.iter().sum::<u64>());
        }
    }
}
