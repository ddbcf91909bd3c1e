//! No plan is worse than that of a textbook heuristic, unless it names the heuristic as not tried.

use std::time::Duration;

use pool_plan::{GreedyHeuristic, IntervalProblem, Monitor, Options, Plan};

use super::families::{FAMILIES, Family, Random, problem};
use super::naive::{Last, Naive};

/// Asserts the rule, with both readings of "then by id".
fn assert_no_worse(problem: &IntervalProblem, plan: &Plan, what: &str) {
    assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
    if plan.certificate.is_optimal() {
        assert_eq!(plan.untried, [], "{what}");
        return;
    }
    let naive = Naive::new(problem);
    for heuristic in GreedyHeuristic::ALL {
        if plan.untried.contains(&heuristic) {
            continue;
        }
        for last in [Last::Place, Last::Name] {
            let (ours, theirs) = (plan.certificate.peak, naive.peak(heuristic, last));
            assert!(ours <= theirs, "{what}: {ours} > {theirs} by {heuristic}, {last:?}");
        }
    }
}

/// Options that end with the greedy plans, without a time limit.
fn only_greedy() -> Options {
    let budget = Duration::from_secs(3600);
    Options { rounds: Some(0), threads: 1, budget, ..Options::default() }
}

fn each_problem(count: u64, sizes: std::ops::Range<u64>, check: impl Fn(&IntervalProblem, &str)) {
    for number in 0..count {
        let mut random = Random::new(number);
        let family = FAMILIES[(number as usize * 5 + 3) % FAMILIES.len()];
        let size = sizes.start + random.below(sizes.end - sizes.start);
        let problem = problem(family, size as usize, number);
        check(&problem, &format!("{family:?} of {size}, seed {number}"));
    }
}

#[test]
fn no_small_plan_is_worse_than_a_heuristic() {
    each_problem(u64::from(super::cases()) * 3, 2..60, |problem, what| {
        let plan = problem.solve(&only_greedy()).unwrap();
        assert_eq!(plan.untried, [], "{what}");
        assert_no_worse(problem, &plan, what);
    });
}

#[test]
fn no_large_plan_is_worse_than_a_heuristic() {
    each_problem(6, 1_000..2_500, |problem, what| {
        let plan = problem.solve(&Options { threads: 2, ..only_greedy() }).unwrap();
        assert_eq!(plan.untried, [], "{what}");
        assert_no_worse(problem, &plan, what);
    });
}

#[test]
fn what_was_not_tried_is_named() {
    each_problem(240, 2..120, |problem, what| {
        let stopped = Monitor::new();
        stopped.cancel();
        let plan = problem.solve_watched(&Options::default(), &stopped).unwrap();
        assert_no_worse(problem, &plan, what);
        let is_optimal = plan.certificate.is_optimal();
        assert!(is_optimal || plan.untried.len() >= 13, "{what}: {:?}", plan.untried);
        for tolerance in [1.1, 1.5] {
            let plan = problem.solve(&Options { tolerance, ..only_greedy() }).unwrap();
            assert_no_worse(problem, &plan, what);
        }
    });
}

#[test]
fn repairs_improve_many_buffers_alike_on_any_number_of_threads() {
    let problem = problem(Family::LongTails, 2_100, 5);
    let greedy = problem.solve(&only_greedy()).unwrap();
    let plan = |threads| {
        // Six rounds are short.
        let options = Options { rounds: Some(7), threads, ..only_greedy() };
        problem.solve(&options).unwrap()
    };
    let improved = plan(1);
    assert_eq!(problem.validate(&improved.offsets), Ok(improved.certificate.peak));
    assert!(improved.certificate.peak < greedy.certificate.peak, "no better: {improved:?}");
    assert_eq!(improved, plan(2));
}
