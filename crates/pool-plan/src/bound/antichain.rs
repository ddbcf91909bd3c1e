//! The heaviest antichain of a partial order, computed with a maximum flow.
//!
//! Each element may send flow to later elements and receive flow from earlier elements. An
//! element's weight limits both the flow that it can send and the flow that it can receive, as in
//! the weighted form of Dilworth's theorem. The minimum cut is the lightest set of elements that
//! covers every pair in the relation. The elements outside the minimum cut form the heaviest
//! antichain.

use std::cmp::Reverse;

use super::transport::Transport;
use crate::bits::{BitMatrix, ones};

/// Returns the elements of a heaviest antichain, excluding elements of weight 0. Returns `None` if
/// `is_needed` returns `false` before the computation ends.
pub(super) fn heaviest(
    precedes: &BitMatrix,
    weights: &[u64],
    is_needed: &dyn Fn() -> bool,
) -> Option<Vec<usize>> {
    let (sends, takes) = Transport::new(precedes, weights).maximise(is_needed)?;
    let kept = |&one: &usize| weights[one] > 0 && sends[one] && !takes[one];
    Some((0..weights.len()).filter(kept).collect())
}

/// Returns a maximal antichain, to which no further element can be added. The returned antichain is
/// not necessarily the heaviest. The function builds one antichain from the elements in `start` and
/// another from scratch, and returns the heavier of the two. `start` must be an antichain. The
/// function adds elements to an antichain in descending order of weight.
// Uncounted: the loop needs no counter because the function handles each element only once. The
// caller runs this function only after the flow computation has used up its budget.
pub(super) fn maximal(precedes: &BitMatrix, weights: &[u64], start: &[usize]) -> Vec<usize> {
    let mut heavy: Vec<usize> = (0..weights.len()).filter(|&one| weights[one] > 0).collect();
    heavy.sort_by_key(|&one| Reverse(weights[one]));
    let extended = |first: &[usize]| {
        let mut antichain = Antichain::new(precedes, weights.len());
        first.iter().chain(&heavy).for_each(|&one| antichain.add(one));
        ones(&antichain.kept).collect::<Vec<_>>()
    };
    let weight = |kept: &Vec<usize>| kept.iter().map(|&one| weights[one]).sum::<u64>();
    [extended(&[]), extended(start)].into_iter().max_by_key(weight).unwrap_or_default()
}

/// A set of mutually unordered elements, stored as bits.
struct Antichain<'a> {
    precedes: &'a BitMatrix,
    kept: Vec<u64>,
    /// The elements that come after at least one of the antichain's elements.
    after: Vec<u64>,
}

impl<'a> Antichain<'a> {
    fn new(precedes: &'a BitMatrix, count: usize) -> Self {
        let words = count.div_ceil(64);
        Self { precedes, kept: vec![0; words], after: vec![0; words] }
    }

    /// Adds an element unless it is ordered before or after an element that is already in the
    /// antichain.
    // Uncounted: the loop needs no counter because each call reads the words of one row.
    fn add(&mut self, one: usize) {
        let later = self.precedes.row(one);
        let is_before = || later.iter().zip(&self.kept).any(|(later, kept)| later & kept != 0);
        if self.after[one / 64] >> (one % 64) & 1 == 1 || is_before() {
            return;
        }
        self.kept[one / 64] |= 1 << (one % 64);
        self.after.iter_mut().zip(later).for_each(|(after, later)| *after |= later);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Transport, heaviest, maximal};
    use crate::bits::BitMatrix;

    /// Generates a random partial order and random weights. An element may precede only
    /// higher-numbered elements.
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

        /// No flow through the network can exceed the total weight of the elements outside the
        /// antichain. If the flow equals the weight outside the antichain, the flow and the
        /// antichain are both optimal.
        #[test]
        fn the_antichain_weighs_what_the_flow_leaves((precedes, weights) in orders()) {
            prop_assert_eq!(heaviest(&precedes, &weights, &|| false), None);
            let Some(kept) = heaviest(&precedes, &weights, &|| true) else {
                return Err(TestCaseError::fail("nothing stopped it"));
            };
            for &one in &kept {
                prop_assert!(precedes.columns(one).all(|later| !kept.contains(&later)));
            }
            let weight = |kept: &[usize]| kept.iter().map(|&one| weights[one]).sum::<u64>();
            for start in [&[][..], &[0][..]] {
                let other = maximal(&precedes, &weights, start);
                prop_assert!(other.iter().all(|&one| precedes.columns(one).all(|later| !other.contains(&later))));
                prop_assert!(weight(&other) <= weight(&kept));
                let is_met = |&one: &usize| other.iter().any(|&kept| {
                    kept == one || precedes.columns(one).any(|later| later == kept)
                        || precedes.columns(kept).any(|later| later == one)
                });
                prop_assert!((0..weights.len()).all(|one| weights[one] == 0 || is_met(&one)));
            }
            let mut transport = Transport::new(&precedes, &weights);
            transport.maximise(&|| true);
            let Some((sent, taken)) = transport.sums() else {
                return Err(TestCaseError::fail("something goes where the relation does not"));
            };
            prop_assert!(sent.iter().zip(&weights).all(|(sent, weight)| sent <= weight));
            prop_assert!(taken.iter().zip(&weights).all(|(taken, weight)| taken <= weight));
            let total: u64 = weights.iter().sum();
            prop_assert_eq!(weight(&kept), total - sent.iter().sum::<u64>());
        }
    }
}
