//! Exact lower bounds on the peak, each with the buffers that prove the bound.
//!
//! The lower bound is the total size of a set of mutually conflicting buffers. An exact algorithm
//! finds this set. In an interval problem, the set is the heaviest set of buffers that are live at
//! the same time. In a graph, the set is the heaviest set of mutually unordered buffers (an
//! antichain).
//!
//! If every buffer in the set is aligned to at least `a` bytes, each one except the topmost is
//! padded to a multiple of `a`. A second bound is therefore the sum of the buffers' padded sizes,
//! minus the largest padding in the set. For an interval problem, a bound that includes padding is
//! computed for each alignment. For a graph, a bound that includes padding is computed only for the
//! smallest alignment. The result is the largest of all computed bounds.

mod antichain;
mod sweep;
mod transport;

use crate::bits::BitMatrix;
use crate::graph::GraphBuffer;
use crate::happens_before::HappensBeforeProblem;
use crate::interval::IntervalProblem;
use crate::item::Item;
use crate::timeline::Timeline;

/// A lower bound on the peak of every plan, along with the buffers that prove it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Bound {
    /// The lower bound in bytes.
    pub bytes: u64,
    /// The indices of mutually conflicting buffers that together need `bytes` bytes. If the bound
    /// follows from a fixed offset, the list contains only the index of the fixed buffer.
    pub witness: Vec<usize>,
}

impl IntervalProblem {
    /// Returns the maximum number of bytes live at any one time.
    #[must_use]
    pub fn lower_bound(&self) -> Bound {
        Bound::on(&Timeline::new(self))
    }
}

impl Bound {
    /// Computes the lower bound for a timeline.
    // Uncounted: the loop needs no counter because, for each alignment, the function makes only a
    // few passes over the buffers. This function runs before the planner computes its first plan.
    pub(crate) fn on(timeline: &Timeline) -> Self {
        let mut granules: Vec<u64> = timeline.items.iter().map(|item| item.alignment).collect();
        granules.sort_unstable();
        granules.dedup();
        best(&timeline.items, &granules, |weights| sweep::heaviest_section(timeline, weights))
    }
}

impl HappensBeforeProblem {
    /// Returns the total size of a maximum-weight antichain, a set of mutually unordered buffers.
    /// The maximum equals the total size of all buffers minus the maximum flow on the comparability
    /// relation (Dilworth 1950, in its weighted form).
    #[must_use]
    pub fn lower_bound(&self) -> Bound {
        self.bound_while(&crate::order::precedence(self, 1), &[], &|| true)
    }

    /// Returns the same bound as [`lower_bound`](Self::lower_bound), but takes the relation as an
    /// argument. For each buffer, the relation lists all buffers that begin after the last use of
    /// that buffer.
    ///
    /// If `is_needed` returns `false` before the exact bound is found, the result might be lower
    /// than that bound. If the computation stops early, the result is based on the buffers that are
    /// live at the same time in one order of the operations. The total also includes the sizes of
    /// other buffers that are not ordered relative to those live buffers. `lifetimes` contains the
    /// buffers' lifetimes for one order of the operations. If two buffers are live at the same time
    /// in some order, neither of them precedes the other.
    pub(crate) fn bound_while(
        &self,
        precedes: &BitMatrix,
        lifetimes: &[(i64, i64)],
        is_needed: &dyn Fn() -> bool,
    ) -> Bound {
        let item = |one: &GraphBuffer| Item {
            size: one.size,
            alignment: one.alignment,
            fixed: one.offset,
        };
        let items: Vec<Item> = self.buffers().iter().map(item).collect();
        // It would take too long to compute a flow for every alignment.
        let least = items.iter().map(|item| item.alignment).min();
        best(&items, least.as_slice(), |weights| {
            antichain::heaviest(precedes, weights, is_needed).unwrap_or_else(|| {
                let live = sweep::heaviest(|one| lifetimes.get(one).copied(), weights);
                antichain::maximal(precedes, weights, &live)
            })
        })
    }
}

/// Returns the highest bound that can be proved from sets of conflicting buffers and fixed offsets.
// Uncounted: the loop needs no counter because the function makes only a few passes over the
// buffers. This function runs before the planner computes its first plan.
fn best(sizes: &[Item], granules: &[u64], heaviest: impl Fn(&[u64]) -> Vec<usize>) -> Bound {
    let weights: Vec<u64> = sizes.iter().map(|one| one.size).collect();
    let witness = heaviest(&weights);
    let mut bound = Bound { bytes: witness.iter().map(|&one| weights[one]).sum(), witness };
    for &granule in granules {
        let is_on_grid = |one: &Item| one.size > 0 && one.alignment >= granule;
        let padding = |one: &Item| one.size.next_multiple_of(granule) - one.size;
        if !sizes.iter().any(|one| is_on_grid(one) && padding(one) > 0) {
            continue;
        }
        let padded = |one: &Item| if is_on_grid(one) { one.size + padding(one) } else { 0 };
        let padded: Vec<u64> = sizes.iter().map(padded).collect();
        let witness = heaviest(&padded);
        let topmost = witness.iter().map(|&one| padding(&sizes[one])).max().unwrap_or(0);
        let bytes = witness.iter().map(|&one| padded[one]).sum::<u64>() - topmost;
        if bytes > bound.bytes {
            bound = Bound { bytes, witness };
        }
    }
    let top = |one: &Item| one.fixed.map_or(0, |offset| offset + one.size);
    for (index, one) in sizes.iter().enumerate() {
        if top(one) > bound.bytes {
            bound = Bound { bytes: top(one), witness: vec![index] };
        }
    }
    bound
}
