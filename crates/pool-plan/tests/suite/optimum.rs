//! On small problems plans are optimal, bounds exact, and capacities decided, as by brute force.

use pool_plan::{Options, Plan, PlanError};
use proptest::prelude::*;

use super::brute::Small;
use super::families::{FAMILIES, Family, Random, problem};
use super::generated::{graphs, intervals};

fn within(capacity: u64) -> Options {
    Options { capacity: Some(capacity), threads: 1, ..Options::default() }
}

fn is_refused(outcome: &Result<Plan, PlanError>) -> bool {
    matches!(outcome, Err(PlanError::Infeasible { .. } | PlanError::ProvedInfeasible { .. }))
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn interval_plans_are_optimal(problem in intervals()) {
        let small = Small::of_intervals(&problem);
        let optimum = small.optimum();
        let plan = problem.solve(&Options { threads: 1, ..Options::default() }).unwrap();
        prop_assert_eq!(problem.validate(&plan.offsets), Ok(optimum));
        prop_assert!(small.accepts(&plan.offsets));
        prop_assert_eq!(plan.certificate.peak, optimum);
        prop_assert!(plan.certificate.bound <= optimum);
        prop_assert!(plan.certificate.is_optimal());
        prop_assert_eq!(problem.solve(&within(optimum)).unwrap().certificate.peak, optimum);
        prop_assert!(optimum == 0 || is_refused(&problem.solve(&within(optimum - 1))));
    }

    #[test]
    fn graph_plans_are_optimal(problem in graphs()) {
        let small = Small::of_graph(&problem);
        let optimum = small.optimum();
        let plan = problem.solve(&Options { threads: 1, ..Options::default() }).unwrap();
        prop_assert_eq!(problem.validate(&plan.offsets), Ok(optimum));
        prop_assert!(small.accepts(&plan.offsets));
        prop_assert_eq!(plan.certificate.peak, optimum);
        prop_assert!(plan.certificate.bound <= optimum);
        prop_assert!(plan.certificate.is_optimal());
        prop_assert_eq!(problem.solve(&within(optimum)).unwrap().certificate.peak, optimum);
        prop_assert!(optimum == 0 || is_refused(&problem.solve(&within(optimum - 1))));
    }

    #[test]
    fn interval_bound_is_the_heaviest_set(problem in intervals()) {
        let mut buffers = problem.buffers().to_vec();
        for buffer in &mut buffers {
            (buffer.alignment, buffer.offset) = (1, None);
            buffer.gaps.clear();
        }
        let problem = pool_plan::IntervalProblem::new(buffers).unwrap();
        let bound = problem.lower_bound();
        prop_assert_eq!(bound.bytes, Small::of_intervals(&problem).heaviest());
    }

    #[test]
    fn graph_bound_is_the_heaviest_antichain(problem in graphs()) {
        let mut buffers = problem.buffers().to_vec();
        buffers.iter_mut().for_each(|buffer| buffer.alignment = 1);
        let edges = problem.edges().to_vec();
        let problem = pool_plan::HappensBeforeProblem::new(10, edges, buffers).unwrap();
        let (bound, small) = (problem.lower_bound(), Small::of_graph(&problem));
        prop_assert_eq!(bound.bytes, small.heaviest());
        let weight: u64 = bound.witness.iter().map(|&one| small.sizes[one]).sum();
        prop_assert_eq!(weight, bound.bytes);
        for &one in &bound.witness {
            for &other in &bound.witness {
                prop_assert!(one == other || small.conflict[one][other]);
            }
        }
    }
}

#[test]
fn no_seed_finds_a_plan_below_a_proved_one() {
    let (mut proved, mut open) = (0, 0);
    for number in 0..u64::from(super::cases()).div_ceil(100) {
        let mut random = Random::new(number ^ 0x9207);
        let any = FAMILIES[random.below(FAMILIES.len() as u64) as usize];
        // With padding, most bounds are out of reach, so only a search can prove a plan optimal.
        let family = if number % 2 == 0 { Family::Aligned } else { any };
        let problem = problem(family, 20 + random.below(60) as usize, number);
        let plans = [(0, 3), (1, 8), (2, 8)].map(|(seed, rounds)| {
            let options = Options { seed, rounds: Some(rounds), threads: 1, ..Options::default() };
            problem.solve(&options).unwrap().certificate
        });
        let least = plans.iter().map(|plan| plan.peak).min().unwrap();
        for plan in &plans {
            assert!(plan.searched_bound <= least, "{family:?} {number}: {plan:?}, and {least}");
            if plan.is_optimal() { proved += 1 } else { open += 1 }
        }
    }
    assert!(proved > 0, "{open} plans, none of them proved");
}
