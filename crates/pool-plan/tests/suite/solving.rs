//! The promises of a solver besides good plans: repeatable, stoppable, and within its options.

use std::time::Duration;

use pool_plan::{Buffer, IntervalProblem, Monitor, Options, PlanError, Proof};

use super::families::Random;
use super::trace::trace;

#[test]
fn same_seed_same_plan_on_any_number_of_threads() {
    let problem = trace("A.1048576.csv");
    let offsets = |threads, seed| {
        let budget = Duration::from_secs(600);
        let options = Options { threads, seed, budget, rounds: Some(2), ..Options::default() };
        problem.solve(&options).unwrap().offsets
    };
    assert_eq!(offsets(1, 7), offsets(2, 7));
    assert_eq!(offsets(3, 8), offsets(2, 8));
}

/// With a tolerance, several tasks of a round may find a plan that is good enough. The first task's
/// plan is the result, even if a later task finds a lower peak before the first one finishes.
#[test]
fn a_tolerance_gives_the_same_plan_on_any_number_of_threads() {
    let mut random = Random::new(5);
    for number in 0..300 {
        let count = 40 + random.below(60);
        let buffers = (0..count).map(|_| {
            let lower = i64::try_from(random.below(count / 3)).unwrap();
            let length = i64::try_from(1 + random.below(15)).unwrap();
            Buffer::unnamed(lower, lower + length, 1 + random.below(5_000))
        });
        let problem = IntervalProblem::new(buffers.collect()).unwrap();
        let offsets = |threads| {
            let (rounds, budget) = (Some(9), Duration::from_secs(600));
            let options =
                Options { threads, rounds, budget, tolerance: 1.002, ..Options::default() };
            problem.solve(&options).unwrap().offsets
        };
        let alone = offsets(1);
        assert_eq!(alone, offsets(2), "problem {number}");
        assert_eq!(alone, offsets(4), "problem {number}");
    }
}

#[test]
fn cancelled_planner_returns_its_best() {
    let problem = trace("H.1048576.csv");
    let monitor = Monitor::new();
    monitor.cancel();
    let options = Options { budget: Duration::from_secs(3600), ..Options::default() };
    let plan = problem.solve_watched(&options, &monitor).unwrap();
    assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
    assert_eq!(monitor.best(), Some(plan.certificate.peak));
    assert_eq!(monitor.bound(), plan.certificate.bound);
    assert_eq!(monitor.steps(), 0);
}

#[test]
fn cancelled_while_it_searches() {
    let problem = trace("H.1048576.csv");
    let monitor = Monitor::new();
    // No plan has this peak's ratio: sizes are multiples of 1024, and one byte of alignment padding
    // more is required than fits. Without a stop, the search would take an hour.
    let mut buffers = problem.buffers().to_vec();
    buffers.iter_mut().for_each(|buffer| buffer.alignment = 4096);
    let problem = IntervalProblem::new(buffers).unwrap();
    let options = Options { budget: Duration::from_secs(3600), ..Options::default() };
    let plan = std::thread::scope(|scope| {
        scope.spawn(|| {
            while monitor.steps() == 0 {
                std::thread::yield_now();
            }
            monitor.cancel();
        });
        problem.solve_watched(&options, &monitor).unwrap()
    });
    assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
}

#[test]
fn fixed_offsets_stay() {
    let mut fixed = Buffer::new("fixed", 0, 4, 10);
    fixed.offset = Some(6);
    let others = [Buffer::new("low", 0, 2, 6), Buffer::new("high", 1, 3, 7)];
    let problem = IntervalProblem::new([vec![fixed], others.to_vec()].concat()).unwrap();
    let plan = problem.solve(&Options::default()).unwrap();
    assert_eq!(plan.offsets[0], 6);
    assert_eq!(plan.certificate.peak, 23);
    assert!(plan.certificate.is_optimal());
}

#[test]
fn exhausted_capacity_is_proved() {
    // Lifetimes form a ring of conflicts: 2 live at any time, but 3 addresses are needed.
    let spans = [(0, 2), (1, 4), (3, 6), (5, 8)];
    let sizes = [2, 1, 2, 1];
    let buffers = spans.iter().zip(sizes).enumerate();
    let buffers = buffers
        .map(|(index, (&(lower, upper), size))| Buffer::new(index.to_string(), lower, upper, size));
    let mut buffers: Vec<Buffer> = buffers.collect();
    buffers[0].offset = Some(0);
    buffers[2].offset = Some(1);
    let problem = IntervalProblem::new(buffers).unwrap();
    let options = |capacity| Options { capacity: Some(capacity), ..Options::default() };
    assert!(matches!(
        problem.solve(&options(3)),
        Err(PlanError::ProvedInfeasible { capacity: 3, bound: 3, best: 4 })
    ));
    assert_eq!(problem.solve(&options(4)).unwrap().certificate.peak, 4);
}

/// Pieces of a rectangle after repeated straight cuts: the planner undoes the cuts without a search.
#[test]
fn straight_cuts_are_undone() {
    for (count, seed) in [(50, 1), (400, 2), (3_000, 3), (20_000, 4)] {
        let mut random = Random::new(seed);
        let mut pieces = vec![(0_i64, 1_i64 << 40, 1_u64 << 40)];
        while pieces.len() < count {
            // Cuts the largest of some pieces, so that all are about equally large.
            let some = [(); 4].map(|()| random.below(pieces.len() as u64) as usize);
            let area = |&place: &usize| {
                let (lower, upper, size) = pieces[place];
                u128::from(size) * u128::from(upper.abs_diff(lower))
            };
            let place = some.into_iter().max_by_key(area).unwrap();
            let (lower, upper, size) = pieces[place];
            let (width, at) = (upper.abs_diff(lower), random.below(1 << 20) + 1);
            if width > size {
                let at = lower + i64::try_from(width / 4 + width / 2 * at / (1 << 21)).unwrap();
                pieces[place].1 = at;
                pieces.push((at, upper, size));
            } else {
                let at = size / 4 + size / 2 * (at >> 1) / (1 << 20);
                pieces[place].2 = at;
                pieces.push((lower, upper, size - at));
            }
        }
        let mut buffers: Vec<Buffer> = pieces
            .iter()
            .map(|&(lower, upper, size)| Buffer::unnamed(lower, upper, size))
            .collect();
        random.shuffle(&mut buffers);
        let problem = IntervalProblem::new(buffers).unwrap();
        let options = Options { rounds: Some(0), ..Options::default() };
        let plan = problem.solve(&options).unwrap();
        assert_eq!(plan.certificate.peak, 1 << 40, "{count} pieces");
        assert_eq!(plan.proof, Proof::Witness);
    }
}

/// The bound of this problem is reached only if every group of buffers is packed without a gap. No
/// greedy heuristic does so, but a search of each group's window does.
#[test]
fn windows_of_a_large_problem_are_packed() {
    let mut random = Random::new(7);
    let buffers = (0..20_000_i64).map(|number| {
        let (begin, mut below) = (number / 30 * 10, |most| random.below(most));
        let (lower, upper) = (below(5) as i64, 6 + below(13) as i64);
        Buffer::unnamed(begin + lower, begin + upper, 1 + below(1 << 16))
    });
    let problem = IntervalProblem::new(buffers.collect()).unwrap();
    let solve = |rounds, threads| {
        let budget = Duration::from_secs(600);
        let options = Options { rounds: Some(rounds), threads, budget, ..Options::default() };
        problem.solve(&options).unwrap()
    };
    assert!(!solve(0, 2).certificate.is_optimal());
    let (one, two) = (solve(1, 1), solve(1, 2));
    assert_eq!(problem.validate(&one.offsets), Ok(one.certificate.bound));
    assert_eq!(one.offsets, two.offsets);
}
