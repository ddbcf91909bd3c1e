//! A shared plan for a family of bodies that differ in only one length. The bucket sizes of a
//! family's graphs form a ladder.
//!
//! The planner computes a plan for the largest member. The resulting plan defines a stack, which is
//! the vertical order of the temporaries. For each temporary, the stack specifies which other
//! temporaries lie below it. In every other member, each temporary is placed at the lowest offset
//! that this stack and the member's own sizes allow. Temporaries that share bytes in the plan can
//! also do so in every member. Temporaries that share no bytes in the plan keep their vertical
//! order in every member. The largest member's stack is therefore valid for every member that uses
//! its temporaries in the same steps. This module validates each member's offsets and compares the
//! member's peak with its lower bound.

use std::cmp::Reverse;

use pool_plan::{HappensBeforeProblem, Options, Plan};

use crate::base::request::GRANULE;

/// One family member's offsets, peak, and lower bound.
#[derive(Clone, Debug)]
pub(super) struct MemberPlan {
    pub(super) offsets: Vec<u64>,
    pub(super) peak: u64,
    pub(super) bound: u64,
}

/// The maximum ratio of peak to lower bound at which a stacked plan is accepted. The planner's
/// options may set a higher limit.
const TOLERATED: f64 = 1.02;

/// Returns a plan for each member. The planner computes a plan for the member with the highest
/// lower bound. Any other member is planned separately only if the common stack yields a poor plan
/// for it.
pub(super) fn plan_all(
    problems: &[HappensBeforeProblem],
    options: &Options,
) -> Result<Vec<MemberPlan>, pool_plan::PlanError> {
    let bounds: Vec<u64> = problems.iter().map(|problem| problem.lower_bound().bytes).collect();
    let largest = (0..problems.len()).min_by_key(|&member| Reverse(bounds[member]));
    let Some(largest) = largest else { return Ok(Vec::new()) };
    let solved = problems[largest].solve(options)?;
    let stack = Stack::new(&problems[largest], &solved);
    let of_member = |(problem, &bound): (&HappensBeforeProblem, &u64)| {
        let stacked = stack.push_down(problem).and_then(|offsets| {
            let peak = problem.validate(&offsets).ok()?;
            Some(MemberPlan { offsets, peak, bound })
        });
        match stacked {
            Some(plan) if is_near(plan.peak, bound, options) => Ok(plan),
            stacked => {
                let own = problem.solve(options)?;
                let own = MemberPlan { peak: own.certificate.peak, offsets: own.offsets, bound };
                Ok(stacked.filter(|plan| plan.peak <= own.peak).unwrap_or(own))
            }
        }
    };
    problems.iter().zip(&bounds).map(of_member).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of a few hundredths")]
fn is_near(peak: u64, bound: u64, options: &Options) -> bool {
    peak as f64 <= bound as f64 * options.tolerance.max(TOLERATED)
}

/// The vertical order of a plan's temporaries. Each temporary lies above all temporaries that end
/// at or before its start.
struct Stack {
    /// The temporaries, sorted by start offset.
    by_begin: Vec<(u64, usize)>,
    /// The temporaries, sorted by end offset.
    by_end: Vec<(u64, usize)>,
}

impl Stack {
    fn new(problem: &HappensBeforeProblem, plan: &Plan) -> Self {
        let begins = plan.offsets.iter().copied().zip(0..);
        let sizes = problem.buffers().iter().map(|buffer| buffer.size);
        let ends = begins.clone().zip(sizes).map(|((begin, which), size)| (begin + size, which));
        let (mut by_begin, mut by_end): (Vec<_>, Vec<_>) = (begins.collect(), ends.collect());
        by_begin.sort_unstable();
        by_end.sort_unstable();
        Self { by_begin, by_end }
    }

    /// Returns the offsets that result when the temporaries have different sizes but the same stack
    /// order. Each temporary starts where the highest temporary below it ends. Returns `None` if
    /// the number of sizes differs from the number of temporaries.
    fn push_down(&self, problem: &HappensBeforeProblem) -> Option<Vec<u64>> {
        let buffers = problem.buffers();
        if buffers.len() != self.by_begin.len() {
            return None;
        }
        let mut offsets = vec![0_u64; buffers.len()];
        let (mut below, mut floor) = (self.by_end.iter().peekable(), 0_u64);
        for &(begin, which) in &self.by_begin {
            // A lower temporary ends at or before the start of the current one, so its new offset
            // is already known.
            while let Some(&(_, under)) = below.next_if(|(end, _)| *end <= begin) {
                floor = floor.max(offsets[under].checked_add(buffers[under].size)?);
            }
            offsets[which] = floor.checked_next_multiple_of(GRANULE)?;
        }
        Some(offsets)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pool_plan::{Edge, GraphBuffer, HappensBeforeProblem, Options};

    use super::{Stack, plan_all};

    fn random(state: &mut u64) -> u64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// Returns the planning problem of a randomly generated graph. Each temporary's size consists
    /// of a fixed part and a part that grows with `length`.
    fn problem(seed: u64, length: u64) -> HappensBeforeProblem {
        let mut state = seed;
        let operations = 30;
        let edges = (1..operations).flat_map(|to| {
            let mut pick = seed ^ (to as u64) << 8;
            let from = usize::try_from(random(&mut pick)).unwrap_or(0) % to;
            [Edge::full(from, to), Edge::full(to - 1 - (to - 1) % 2, to)]
        });
        let buffers = (0..40).map(|number| {
            let begin = usize::try_from(random(&mut state)).unwrap_or(0) % operations;
            let until =
                begin + usize::try_from(random(&mut state)).unwrap_or(0) % (operations - begin);
            let size = 256 * (1 + random(&mut state) % 9 * length + random(&mut state) % 3);
            let mut buffer = GraphBuffer::new(number.to_string(), size, begin, vec![until]);
            buffer.alignment = 256;
            buffer
        });
        let buffers: Vec<_> = buffers.collect();
        HappensBeforeProblem::new(operations, edges.collect(), buffers).unwrap()
    }

    /// This test uses independent code to check that every member's plan is valid. Each plan's peak
    /// must be close to the lower bound, or no higher than the peak of a separately computed plan.
    #[test]
    fn a_stack_is_a_plan_for_every_length() {
        let options =
            Options { rounds: Some(5), budget: Duration::from_secs(60), ..Options::default() };
        for seed in 1..if cfg!(miri) { 2 } else { 25 } {
            let problems: Vec<_> = [3, 1, 8, 5].map(|length| problem(seed, length)).into();
            let solved = problems[2].solve(&options).unwrap();
            let stack = Stack::new(&problems[2], &solved);
            for (problem, plan) in problems.iter().zip(plan_all(&problems, &options).unwrap()) {
                assert_eq!(problem.validate(&plan.offsets), Ok(plan.peak));
                assert!(plan.peak >= plan.bound);
                let stacked = stack.push_down(problem).unwrap();
                let peak = problem.validate(&stacked).unwrap();
                assert!(plan.peak <= peak, "seed {seed}: no worse than the stack");
            }
            let pushed = stack.push_down(&problems[2]).unwrap();
            let peak = problems[2].validate(&pushed).unwrap();
            assert!(
                peak <= solved.certificate.peak,
                "the stack of a plan is no higher than the plan"
            );
        }
    }

    #[test]
    fn another_number_of_temporaries_is_no_member() {
        let [one, other] = [problem(1, 2), problem(2, 2)];
        let fewer = other.buffers()[..39].to_vec();
        let fewer = HappensBeforeProblem::new(30, other.edges().to_vec(), fewer).unwrap();
        let options = Options { rounds: Some(5), ..Options::default() };
        let solved = one.solve(&options).unwrap();
        assert!(Stack::new(&one, &solved).push_down(&fewer).is_none());
        let plans = plan_all(&[one, fewer], &options).unwrap();
        assert_eq!(plans.iter().map(|plan| plan.offsets.len()).collect::<Vec<_>>(), [40, 39]);
    }
}
