//! Compares the niche search with an enumeration of all placement orders on small problems.

use super::{FOCUSES, Focus, NicheSearch};
use crate::buffer::{Buffer, Gap};
use crate::interval::IntervalProblem;
use crate::random::Random;
use crate::search::{Instance, Outcome, Steps};
use crate::timeline::Timeline;

/// Creates a problem with up to seven buffers. Some buffers have an alignment requirement, a fixed
/// offset, or a required gap.
fn problem(seed: u64) -> Option<IntervalProblem> {
    let mut random = Random::new(seed, 0, 0);
    let mut number = |most| i64::try_from(random.below(most)).unwrap_or(0);
    let buffers = (0..2 + number(6)).map(|id| {
        let lower = number(10);
        let length = 1 + number(6);
        let mut buffer =
            Buffer::new(id.to_string(), lower, lower + length, number(9).unsigned_abs());
        buffer.alignment = 1 << (number(8) / 6);
        if length > 2 && number(4) == 0 {
            buffer.gaps = vec![Gap { lower: lower + 1, upper: lower + length - 1 }];
        }
        if number(12) == 0 {
            buffer.offset = Some(number(8).unsigned_abs() * buffer.alignment);
        }
        buffer
    });
    IntervalProblem::new(buffers.collect()).ok()
}

/// Returns `true` if the unplaced items can be stacked on the placed items in some order without
/// exceeding the capacity.
fn has_plan(instance: &Instance, offsets: &mut [Option<u64>], capacity: u64) -> bool {
    let open = (0..offsets.len()).filter(|&item| offsets[item].is_none());
    let open: Vec<usize> = open.filter(|&item| instance.items[item].size > 0).collect();
    open.is_empty()
        || open.into_iter().any(|item| {
            let one = instance.items[item];
            let others = instance.conflicts.row(item).iter().map(|&other| other as usize);
            let tops =
                others.filter_map(|other| Some(offsets[other]? + instance.items[other].size));
            let lowest = tops.max().unwrap_or(0).next_multiple_of(one.alignment);
            let offset = one.fixed.unwrap_or(lowest);
            if offset < lowest || offset + one.size > capacity {
                return false;
            }
            offsets[item] = Some(offset);
            let leads_to_one = has_plan(instance, offsets, capacity);
            offsets[item] = None;
            leads_to_one
        })
}

fn is_plan(instance: &Instance, offsets: &[u64], capacity: u64) -> bool {
    let end = |item: usize| offsets[item] + instance.items[item].size;
    (0..offsets.len()).filter(|&item| instance.items[item].size > 0).all(|item| {
        let one = instance.items[item];
        let mut others = instance.conflicts.row(item).iter().map(|&other| other as usize);
        offsets[item] % one.alignment == 0
            && one.fixed.is_none_or(|fixed| fixed == offsets[item])
            && end(item) <= capacity
            && others.all(|other| end(other) <= offsets[item] || end(item) <= offsets[other])
    })
}

fn outcome(instance: &Instance, capacity: u64, (focus, patience): (Focus, f64)) -> Outcome {
    let mut search = NicheSearch::new(instance, capacity, focus, Random::new(capacity, 1, 2));
    (search.patience, search.first_patience) = (patience, patience);
    let outcome = search.run(1_000_000, u64::MAX);
    if outcome == Outcome::Found {
        assert!(is_plan(instance, search.offsets(), capacity), "{:?}", search.offsets());
    }
    outcome
}

#[test]
fn a_plan_is_found_exactly_if_brute_force_has_one() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..3_000 {
        let Some(problem) = problem(seed) else { continue };
        let timeline = Timeline::new(&problem);
        let instance = Instance::of_timeline(&timeline, usize::MAX, &|| true).expect("small");
        let bound = problem.lower_bound().bytes;
        for capacity in bound..bound + 4 {
            let mut offsets = vec![None; instance.items.len()];
            let expected = if has_plan(&instance, &mut offsets, capacity) {
                found += 1;
                Outcome::Found
            } else {
                none += 1;
                Outcome::Exhausted
            };
            // If `patience` is low, the search restarts after only a few dead ends.
            for focus in FOCUSES {
                for patience in [1.0, 200.0] {
                    let outcome = outcome(&instance, capacity, (focus, patience));
                    assert_eq!(outcome, expected, "{focus:?}, {capacity} of seed {seed}");
                }
            }
        }
    }
    assert!(found > 1_000 && none > 200, "{found} with a plan, {none} without");
}
